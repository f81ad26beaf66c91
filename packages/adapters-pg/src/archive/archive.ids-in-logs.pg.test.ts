import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { slowWorker } from '../../test/slow-worker.ts'

const dayMs = 24 * 3_600_000

describe('a payout that the service accepted after its end, when its history is old enough to be archived,', async () => {
  const { pool, open, commit, enqueue, rows, forgetRequests } = await testHost()
  const slow = slowWorker(() => pool)
  const found = () => rows('select remote_id from outlay.transfer where remote_id is not null')

  /** A canceled payout that was accepted as `remote-1` and that a person has dealt with, and the archive's next run. */
  async function dealtWith() {
    const gateway = listedGateway()
    const engine = open({ gateway })
    const { id } = await enqueue(engine)
    await slow.claim()
    await slow.lose()
    await rows(`update outlay.transfer set stage = 'queued' where id = $1`, [id])
    await forgetRequests()
    await commit((tx) => engine.transfers.cancel(tx, id))
    const { id: remoteId } = gateway.add({ status: 'complete' })
    expect(await slow.settle(id, 1, slow.accepted(remoteId))).toBe('stale')
    await rows('update outlay.attempt set unmatched = false where transfer_id = $1 and unmatched', [id])
    await rows(`update outlay.transfer set updated_at = now() - interval '40 days'`)
    await engine.archive({ olderThanMs: 0 })
    return { gateway, engine, id, remoteId }
  }

  it('is not adopted by a reconciliation', async () => {
    const { engine } = await dealtWith()
    await engine.start()
    await engine.stop()
    await commit((tx) => engine.fence(tx))
    const { differences } = await engine.reconcile({ since: new Date(Date.now() - 60 * dayMs) })
    expect([differences, await found()]).toEqual([[], []])
  })

  it('is not adopted as lost by a reconciliation that has read an earlier state', async () => {
    const { remoteId } = await dealtWith()
    const lost = [{ remote_id: remoteId, automated: false, transfer: {} }]
    expect(await rows(`select * from outlay.adopt_lost('acme', $1)`, [JSON.stringify(lost)])).toEqual([])
  })

  it('is given to no twin that has ended in doubt', async () => {
    const { engine, id, remoteId } = await dealtWith()
    const twin = await enqueue(engine)
    await commit((tx) => engine.transfers.cancel(tx, twin.id))
    await rows(
      `insert into outlay.attempt (transfer_id, attempt, worker, answered_at, outcome, unmatched)
       values ($1, 1, 'reconcile', now(), 'reconciled', true)`,
      [twin.id],
    )
    await rows('update outlay.transfer set attempt = 1 where id = $1', [twin.id])
    expect(await rows('select outlay.resolve($1, $2, null, null, null)', [twin.id, remoteId])).toEqual([
      { resolve: id },
    ])
  })
})

describe('the archive', async () => {
  const { open, commit, enqueue, rows } = await testHost()

  it('leaves the history of a transfer whose key the service has for another request: it may have paid', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await commit((tx) => engine.transfers.cancel(tx, id))
    await rows(
      `insert into outlay.attempt (transfer_id, attempt, worker, claimed_at, answered_at, outcome)
       values ($1, 1, 'earlier code', now() - interval '1 day', now() - interval '1 day', 'key_mismatch')`,
      [id],
    )
    await rows(`update outlay.transfer set attempt = 1, updated_at = now() - interval '40 days'`)
    expect(await engine.archive({ olderThanMs: 0 })).toMatchObject({ archived: 0 })
    await expect(commit((tx) => engine.transfers.resubmit(tx, id))).rejects.toMatchObject({ code: 'conflict' })
  })
})
