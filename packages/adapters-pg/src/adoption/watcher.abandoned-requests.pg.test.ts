import type { SubmitResult } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { samplePayout } from '../../test/outbox.ts'
import { poor } from '../../test/slow-worker.ts'

const { open, commit, rows } = await testHost()

/** A payout whose first request a proxy holds back beyond the limit, and whose second one finds no money. */
async function abandon() {
  const service = listedGateway()
  const arrives = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  let calls = 0
  let arrived: Promise<SubmitResult> | undefined
  const engine = open({
    polling: { maxDelayMs: 50 },
    timeouts: { submitMs: 50 },
    fraction: 0.001,
    gateway: {
      ...service,
      async submit(submission, sending) {
        calls += 1
        if (calls > 1) return poor
        arrived = arrives.promise.then(() => service.submit(submission, sending))
        const answer = await arrived
        await answered.promise
        return answer
      },
    },
  })
  await commit((tx) => engine.accounts.watch(tx, 'acme'))
  const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
  await engine.start({ stopTimeoutMs: 0 })
  await waitUntil(() => calls > 1)
  return {
    ...{ service, engine, id },
    calls: () => calls,
    async arrive() {
      arrives.resolve()
      await arrived
    },
    answer: () => answered.resolve(),
  }
}

/** Awaits some requests more, or the end of the transfer. */
async function sendMore({ engine, id, calls }: Awaited<ReturnType<typeof abandon>>) {
  const before = calls()
  await waitUntil(async () => calls() >= before + 2 || (await engine.transfers.get(id))?.stage === 'settled', {
    timeoutMs: 60_000,
  })
}

describe('a payout whose request is still under way, when its call was abandoned and a later one found no money,', () => {
  it('is not adopted as one of others', async () => {
    const { service, engine, id, arrive, answer } = await abandon()
    await reach(engine, id, { stage: 'awaiting_funds' })
    await arrive()
    const lists = service.requests.list
    await waitUntil(() => service.requests.list >= lists + 3, { timeoutMs: 60_000 })
    const adopted = await rows('select remote_id from outlay.transfer where id <> $1', [id])
    answer()
    const { remoteId } = await waitUntil(async () => {
      const transfer = await engine.transfers.get(id)
      return transfer?.remoteId == null ? undefined : transfer
    })
    expect({ adopted, remoteId }).toEqual({ adopted: [], remoteId: 'remote-1' })
  })

  it('does not expire', async () => {
    const abandoned = await abandon()
    const { engine, id, arrive, answer } = abandoned
    await rows('update outlay.transfer set expires_at = clock_timestamp() where id = $1', [id])
    await sendMore(abandoned)
    expect((await engine.transfers.get(id))?.status).toBe('pending')
    await arrive()
    answer()
    await reach(engine, id, { remoteId: 'remote-1' })
  })
})
