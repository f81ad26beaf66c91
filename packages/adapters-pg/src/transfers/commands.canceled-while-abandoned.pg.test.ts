import type { SubmitResult } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { poor } from '../../test/slow-worker.ts'

const { open, commit } = await testHost()

it('a payout whose request is still under way, when its call was abandoned, is not canceled and paid again', async () => {
  const service = memoryGateway({ status: 'processing' })
  const arrives = Promise.withResolvers<void>()
  let calls = 0
  let first: Promise<SubmitResult> | undefined
  const engine = open({
    timeouts: { submitMs: 50 },
    fraction: 0.001,
    gateway: {
      get: (...read) => service.get(...read),
      async submit(submission, sending) {
        calls += 1
        if (calls === 1) {
          // A proxy holds the request back for longer than the limit; its answer is that of the service.
          first = arrives.promise.then(() => service.submit(submission, sending))
          return first
        }
        // The key has had no effect until now, and there is too little money.
        if (calls === 2) return poor
        return service.submit(submission, sending)
      },
    },
  })
  const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
  await engine.start({ stopTimeoutMs: 0 })
  await reach(engine, id, { stage: 'awaiting_funds' })
  const again = await commit(async (tx) => {
    await engine.transfers.cancel(tx, id)
    return engine.transfers.resubmit(tx, id)
  }).catch(() => undefined)
  if (again !== undefined) await reach(engine, again.id, { stage: 'submitted' })
  arrives.resolve()
  await first
  await waitUntil(async () => service.transfers.size > 0)
  expect({ canceled: again !== undefined, paid: service.transfers.size }).toEqual({ canceled: false, paid: 1 })
})
