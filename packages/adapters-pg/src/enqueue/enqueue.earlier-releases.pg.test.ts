import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('enqueueing by an earlier release while the policies change', async () => {
  const { begin, open, commit, rows } = await testHost()
  const ids = ['01J0000000000000000000000X', '01J0000000000000000000000Y']
  const columns = `$1::text[], array(select outlay.job_id(i) from unnest($1::text[]) as i), array['acme', 'acme'], $1, array['f', 'f'], $2, false,
    array['', ''], array['', ''], array['', ''], array['default', 'default']`
  const requests = ids.map(() => JSON.stringify(samplePayout('acme')))
  const setPolicy = (name: string) =>
    commit((tx) =>
      open().policies.set(tx, [{ name, approvals: [{}] }], { actor: 'petra', reason: 'as the board decided' }),
    )
  const waitForLock = () =>
    waitUntil(async () => {
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await rows(waiting)).length > 0
    })
  const expectHeld = async () => {
    expect(await rows('select id, stage from outlay.transfer order by id')).toEqual(
      ids.map((id) => ({ id, stage: 'held' })),
    )
    expect(await rows('select distinct name from outlay.hold')).toEqual([{ name: 'operator' }])
    expect(await rows('select from outlay.outbox')).toEqual([])
  }

  it('holds what goes into a batch', async () => {
    const batch = await commit((tx) => open().batches.create(tx))
    const [worker, host] = [await begin(), await begin()]
    await worker.query('select pg_advisory_xact_lock(outlay.batch_lock($1))', [batch.id])
    const beside = ids.map(() => JSON.stringify({ batch: batch.id }))
    const enqueued = host.query(`select * from outlay.enqueue_many_with(${columns}, $3)`, [ids, requests, beside])
    await waitForLock()
    await setPolicy('large')
    await worker.query('commit')
    expect((await enqueued).rows).toEqual([
      { written: true, at: expect.stringMatching(/^\d{4}-/), stored_position: null },
    ])
    await host.query('commit')
    await expectHeld()
    expect((await open().batches.get(batch.id))?.counts).toMatchObject({ total: 2, unended: 2 })
  })

  it('holds what goes into no batch', async () => {
    await setPolicy('large')
    const [other, host] = [await begin(), await begin()]
    await other.query('select pg_advisory_xact_lock(7)')
    // It stands still after the read of the policies.
    await host.query(`alter function outlay.unjudged_holds() rename to unjudged_holds_now`)
    await host.query(`create function outlay.unjudged_holds() returns jsonb language plpgsql as $$
      begin perform pg_advisory_xact_lock(7); return outlay.unjudged_holds_now(); end $$`)
    const enqueued = host.query(`select * from outlay.enqueue_many_to(${columns})`, [ids, requests])
    await waitForLock()
    await setPolicy('larger')
    await other.query('commit')
    expect((await enqueued).rows).toEqual([
      { written: true, at: expect.stringMatching(/^\d{4}-/), stored_position: null },
    ])
    await host.query(`drop function outlay.unjudged_holds()`)
    await host.query(`alter function outlay.unjudged_holds_now() rename to unjudged_holds`)
    await host.query('commit')
    await expectHeld()
  })
})
