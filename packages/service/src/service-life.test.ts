import { recordingLogger } from '@outlay/testing'
import { expect, it } from 'vitest'
import { createServiceLife, type ServiceRun } from './service-life.ts'

/** A life whose runs write down what they do. Each step waits for its gate. */
function recordedLife(limits: { readonly stopLimitMs?: number } = {}) {
  const log: string[] = []
  const gates: PromiseWithResolvers<void>[] = []
  const closed: PromiseWithResolvers<void>[] = []
  const logger = recordingLogger()
  let count = 0
  const createRun = (): ServiceRun => {
    count += 1
    const name = count
    const step = (part: string) => () => {
      log.push(`${part} ${name}`)
      const gate = Promise.withResolvers<void>()
      gates.push(gate)
      return gate.promise
    }
    const close = (how: string) => () => {
      log.push(`${how} ${name}`)
      const gate = Promise.withResolvers<void>()
      closed.push(gate)
      return gate.promise.then(() => void log.push(`${how}d ${name}`))
    }
    return { steps: [step('rails'), step('engine')], close: close('close'), closeLate: close('close late') }
  }
  return { log, gates, closed, logger, life: createServiceLife({ logger, ...limits }, createRun) }
}

const turn = () => new Promise(setImmediate)

it('a stop while it starts waits for the step under way, begins no other one and closes; each stop waits for that', async () => {
  const { life, log, gates, closed } = recordedLife()
  const started = life.start()
  await turn()
  const ends: string[] = []
  const stops = ['first', 'second'].map((name) => life.stop().then(() => ends.push(name)))
  await turn()
  expect([log, ends]).toEqual([['rails 1'], []])
  gates[0]?.resolve()
  await expect(started).rejects.toMatchObject({ code: 'aborted' })
  await turn()
  expect([log, ends]).toEqual([['rails 1', 'close 1'], []])
  closed[0]?.resolve()
  await Promise.all(stops)
  expect([log, life.isRunning()]).toEqual([['rails 1', 'close 1', 'closed 1'], false])
})

it('a stop in the turn in which the last step ends leaves nothing running', async () => {
  const { life, log, gates, closed } = recordedLife()
  const started = life.start()
  await turn()
  gates[0]?.resolve()
  await turn()
  gates[1]?.resolve()
  const stopped = life.stop()
  await expect(started).rejects.toMatchObject({ code: 'aborted' })
  await turn()
  closed[0]?.resolve()
  await stopped
  expect(log).toEqual(['rails 1', 'engine 1', 'close 1', 'closed 1'])
})

it('a start after a stop waits for its end, and a start of what is started is refused', async () => {
  const { life, log, gates, closed } = recordedLife()
  const first = life.start()
  await expect(life.start()).rejects.toThrow('started already')
  await turn()
  gates[0]?.resolve()
  await turn()
  gates[1]?.resolve()
  await first
  expect(life.isRunning()).toBe(true)
  await expect(life.start()).rejects.toThrow('started already')
  const stopped = life.stop()
  const again = life.start()
  await turn()
  expect(log).toEqual(['rails 1', 'engine 1', 'close 1'])
  closed[0]?.resolve()
  await stopped
  await turn()
  expect(log.slice(3)).toEqual(['closed 1', 'rails 2'])
  gates[2]?.resolve()
  await turn()
  gates[3]?.resolve()
  await again
  expect(life.isRunning()).toBe(true)
})

it('a start that fails closes what it has opened before it throws, and a stop meanwhile waits for that', async () => {
  const { life, log, gates, closed } = recordedLife()
  const started = life.start()
  const failed = expect(started).rejects.toThrow('no bank')
  await turn()
  gates[0]?.reject(new Error('no bank'))
  await turn()
  expect(log).toEqual(['rails 1', 'close 1'])
  const ends: string[] = []
  const stopped = life.stop().then(() => ends.push('stop'))
  await turn()
  expect(ends).toEqual([])
  closed[0]?.resolve()
  await Promise.all([failed, stopped])
  expect(log).toEqual(['rails 1', 'close 1', 'closed 1'])
  const again = life.start()
  await turn()
  gates[1]?.resolve()
  await turn()
  gates[2]?.resolve()
  await again
  expect(life.isRunning()).toBe(true)
})

it('a step that does not end is left after the limit, and closed once it ends', async () => {
  const { life, log, gates, closed, logger } = recordedLife({ stopLimitMs: 1 })
  const started = life.start()
  await turn()
  const stopped = life.stop()
  while (closed.length === 0) await turn()
  closed[0]?.resolve()
  await stopped
  expect(logger.entries).toMatchObject([{ level: 'warn', fields: { part: 'start', error: 'TimeoutError' } }])
  gates[0]?.resolve()
  await expect(started).rejects.toMatchObject({ code: 'aborted' })
  await turn()
  expect(log).toEqual(['rails 1', 'close 1', 'closed 1', 'close late 1'])
})

it('what was never started is closed once, and again after it could not be closed', async () => {
  const { life, log, closed } = recordedLife()
  const stops = [life.stop(), life.stop()]
  closed[0]?.reject(new Error('no database'))
  for (const stop of stops) await expect(stop).rejects.toThrow('no database')
  const again = life.stop()
  closed[1]?.resolve()
  await again
  await life.stop()
  expect(log).toEqual(['close 1', 'close 2', 'closed 2'])
})
