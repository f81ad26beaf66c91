import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { type ListedGateway, listedGateway } from '../../test/listed-gateway.ts'

describe('the history of a transfer that the service accepted after its end', async () => {
  const { pool, open, commit, enqueue, rows, forgetRequests } = await testHost()

  /** A transfer that was canceled and then accepted, with which a person has dealt, long ago. */
  async function acceptLate(engine: HostEngine, gateway: ListedGateway) {
    const { id } = await enqueue(engine)
    await pool.query(`select * from outlay.fetch_and_claim(1, 'slow', '', null)`)
    await pool.query(`update outlay.transfer set stage = 'queued' where id = $1`, [id])
    await forgetRequests()
    await commit((tx) => engine.transfers.cancel(tx, id))
    const { id: remoteId } = gateway.add({ status: 'complete' })
    const accepted = { stage: 'submitted', status: 'processing', outcome: 'accepted', remote_id: remoteId, events: [] }
    await pool.query('select * from outlay.settle($1, 2)', [JSON.stringify([{ id, attempt: 1, ...accepted }])])
    await pool.query('update outlay.attempt set unmatched = false where transfer_id = $1 and unmatched', [id])
    await pool.query(`update outlay.transfer set updated_at = now() - interval '40 days'`)
    const archived = await rows(`select archived from outlay.archive_history('', 'Z', 86400000, 100, false)`)
    return { id, remoteId, archived }
  }

  it('is not archived, so the payment is not adopted as one of others', async () => {
    const gateway = listedGateway()
    const engine = open({ gateway, fraction: 0.99, polling: { maxDelayMs: 50 } })
    const { id, archived } = await acceptLate(engine, gateway)
    expect(archived).toEqual([{ archived: 0 }])
    const { id: other } = gateway.add({ status: 'complete' })
    await commit((tx) => engine.accounts.watch(tx, 'acme', { since: new Date(Date.now() - 86_400_000 * 60) }))
    await engine.start()
    // Once the other payment is adopted, the list has been read.
    const adopted = 'select id from outlay.transfer where remote_id = $1'
    await waitUntil(async () => (await rows(adopted, [other])).length === 1)
    expect(await rows('select id from outlay.transfer where remote_id is distinct from $1', [other])).toEqual([{ id }])
  })

  it('is not archived, so no person gives its id to another transfer', async () => {
    const gateway = listedGateway()
    const engine = open({ gateway })
    const { id, remoteId } = await acceptLate(engine, gateway)
    const twin = await enqueue(engine)
    await pool.query(
      `update outlay.transfer set stage = 'blocked', reason = 'outcome_unknown', unknown_since = now() - interval '25 hours', attempt = 1
       where id = $1`,
      [twin.id],
    )
    const resolve = commit((tx) => engine.transfers.resolve(tx, twin.id, { remoteId }))
    await expect(resolve).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining(id) })
  })
})
