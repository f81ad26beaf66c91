import { setTimeout as wait } from 'node:timers/promises'
import type { SubmitResult } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

const { open, commit, pool } = await testHost()
const keyLifetimeMs = 20_000

it('a request whose call was abandoned does not leave when its key is too old, while a host has its transfer locked', async () => {
  const firstAt = Promise.withResolvers<number>()
  let calls = 0
  let mayLeave: (() => boolean) | undefined
  const engine = open({
    fraction: 0.001,
    timeouts: { submitMs: 50 },
    gateway: {
      keyLifetimeMs,
      get: async () => undefined,
      async submit(_, { mayBegin }) {
        calls += 1
        if (calls === 1) {
          // It pays, and its answer is lost.
          firstAt.resolve(performance.now())
          return { outcome: 'unknown', detail: 'The answer was lost.' }
        }
        // Waits for its turn in a queue of its own, and does not listen to the signal; it asks before it sends.
        mayLeave = mayBegin
        return new Promise<SubmitResult>(() => undefined)
      },
    },
  })
  const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
  await engine.start({ stopTimeoutMs: 0 })
  const sentAt = await firstAt.promise
  await waitUntil(() => mayLeave !== undefined)
  const host = await pool.connect()
  await host.query('begin')
  await host.query('select 1 from outlay.transfer where id = $1 for update', [id])
  await wait(keyLifetimeMs + 500 - (performance.now() - sentAt))
  const may = mayLeave?.()
  await host.query('rollback')
  host.release()
  expect({ calls, may }).toEqual({ calls: 2, may: false })
})
