import { OutlayError } from '@outlay/core'
import { expect, it } from 'vitest'
import { createReadiness, type ReadinessOptions } from './readiness.ts'

/** Readiness whose questions a test answers itself. */
function open(options: Partial<ReadinessOptions> = {}) {
  const asked: ReturnType<typeof Promise.withResolvers<void>>[] = []
  const now = { ms: 0 }
  const phase = { is: 'running' as 'running' | 'stopped' }
  const read = createReadiness({
    check() {
      const question = Promise.withResolvers<void>()
      asked.push(question)
      return question.promise
    },
    workers: () => ({ phase: phase.is, loops: [] }),
    cacheMs: 1_000,
    timeoutMs: 60_000,
    realTimeMs: () => now.ms,
    ...options,
  })
  return { read, asked, now, phase }
}

it('a storm of probes asks the database once, and once more when the answer is old', async () => {
  const { read, asked, now } = open()
  const storm = Array.from({ length: 10_000 }, () => read())
  asked[0]?.resolve()
  expect(new Set((await Promise.all(storm)).map(({ ready }) => ready))).toEqual(new Set([true]))
  now.ms = 999
  await read()
  expect(asked).toHaveLength(1)
  now.ms = 1_000
  const again = read()
  expect(asked).toHaveLength(2)
  asked[1]?.reject(new Error('gone'))
  expect(await again).toEqual({ ready: false, database: false, schema: false, workers: true, code: null })
})

it('shows at once that the workers have stopped, whatever is cached', async () => {
  const { read, asked, phase } = open()
  const first = read()
  asked[0]?.resolve()
  expect(await first).toMatchObject({ ready: true })
  phase.is = 'stopped'
  expect(await read()).toMatchObject({ ready: false, database: true, schema: true, workers: false })
})

it('distinguishes a schema that does not fit from a database that is away, without the text of an error', async () => {
  const { read, asked } = open()
  const first = read()
  asked[0]?.reject(new OutlayError('not_migrated', 'The schema "secret" lacks 0001.'))
  expect(await first).toEqual({ ready: false, database: true, schema: false, workers: true, code: 'not_migrated' })
})

it('a database that never answers is away, and is asked three questions at most', async () => {
  const { read, asked, now } = open({ timeoutMs: 1, cacheMs: 0 })
  for (let probe = 1; probe <= 10; probe += 1) {
    expect(await read()).toMatchObject({ ready: false, database: false })
    now.ms += 1
  }
  expect(asked).toHaveLength(3)
  for (const question of asked) question.resolve()
  await Promise.all(asked.map(({ promise }) => promise))
  await new Promise((resolve) => setImmediate(resolve))
  void read()
  expect(asked).toHaveLength(4)
})
