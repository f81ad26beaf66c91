import type { SubmitResult } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

const { open, commit, outcomes, rows } = await testHost()

it('the log of an acceptance that came late has the attempt that was made, with the answer and that it was unknown before', async () => {
  const service = memoryGateway({ status: 'processing' })
  const hanging = Promise.withResolvers<void>()
  const engine = open({
    timeouts: { submitMs: 50 },
    gateway: {
      get: (...read) => service.get(...read),
      async submit(submission, sending) {
        const accepted = await service.submit(submission, sending)
        await hanging.promise
        return { ...accepted, httpStatus: 201, requestId: 'request-1' } as SubmitResult
      },
    },
    // The next attempt is far away.
    fraction: 1,
  })
  const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
  await engine.start({ stopTimeoutMs: 0 })
  await waitUntil(async () => (await outcomes(id)).some(({ outcome }) => outcome === 'unknown'))
  const [before] = await rows('select worker, claimed_at, detail from outlay.attempt')
  hanging.resolve()
  await reach(engine, id, { stage: 'submitted', attempt: 1 })
  expect(
    await rows('select worker, claimed_at, detail, outcome, http_status, request_id, remote_id from outlay.attempt'),
  ).toEqual([
    {
      ...before,
      ...{ outcome: 'accepted', http_status: 201, request_id: 'request-1', remote_id: 'remote-1' },
      detail: expect.stringContaining(before?.detail),
    },
  ])
})
