import { Id } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

const note = { actor: 'petra', reason: 'as the board decided' }

/** What the release before holds sends for the release of a blocked transfer. */
const earlierRequeue = [
  `with changed as (
      update outlay.transfer t
      set stage = 'queued', reason = null, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
      where t.id = $1 and t.stage = 'blocked' returning t.id, t.event_sequence
    )
    select outlay.record_events(array_agg(c.id), array_agg(c.event_sequence), array_agg('transfer.released'::text))::text from changed c having count(*) > 0`,
  `select outlay.queue_wake(array_agg(outlay.job_id(t.id)), array_agg(t.not_before), array_agg(false))::text from outlay.transfer t where t.id = $1`,
  `select outlay.queue_ensure(array_agg(outlay.job_id(t.id)), array_agg(t.not_before), array_agg(false))::text from outlay.transfer t where t.id = $1`,
]

describe('a release by an earlier release', async () => {
  const { open, commit, rows, enqueue, pool } = await testHost()

  it('does not send what people still hold, which is sent once they let it go', async () => {
    const engine = open()
    await commit((tx) => engine.policies.set(tx, [{ name: 'all', approvals: [{}] }], note))
    const { id } = await enqueue(engine, { createdBy: 'carl' })
    const change = { id, attempt: 0, evidence: 'The service has two like it.' }
    await rows('select * from outlay.apply_reconciliation($1, null)', [JSON.stringify([change])])
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'blocked' })
    for (const text of earlierRequeue) await rows(text, [id])
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held', reason: 'approval' })
    expect(await rows('select from outlay.outbox')).toEqual([])
    await commit((tx) => engine.transfers.approve(tx, id, { actor: 'anna' }))
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'queued' })
    expect(await rows('select id::text from outlay.outbox')).toEqual([{ id: Id.toUuid(Id.parse(id)) }])
  })

  it('is kept with the rights of a role that may not read the holds', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await rows(`insert into outlay.hold (transfer_id, name, why) values ($1, 'approval', 'large')`, [id])
    await rows(`update outlay.transfer set stage = 'blocked' where id = $1`, [id])
    const tx = await pool.connect()
    try {
      await tx.query('begin')
      await tx.query(`create role earlier_worker`)
      await tx.query(`grant usage on schema outlay to earlier_worker`)
      await tx.query(`grant select, update on outlay.transfer to earlier_worker`)
      await tx.query(`set local role earlier_worker`)
      await tx.query(`update outlay.transfer set stage = 'queued', reason = null where id = $1`, [id])
      const { rows: found } = await tx.query('select stage, reason from outlay.transfer where id = $1', [id])
      expect(found).toEqual([{ stage: 'held', reason: 'approval' }])
    } finally {
      await tx.query('rollback')
      tx.release()
    }
  })
})
