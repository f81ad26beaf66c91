import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { outboxTable, queueSchema } from '../../test/queue.ts'

it('shows the views to a role of the host with the rights that the guide names', async () => {
  const { pool, open, commit, enqueue, rows } = await testHost()
  const engine = open()
  await enqueue(engine, { accountId: 'acme' })
  await enqueue(engine, { accountId: 'paused' })
  await commit((tx) => engine.accounts.pause(tx, 'paused'))
  await commit((tx) => engine.accounts.pause(tx, 'idle'))
  await commit((tx) => engine.accounts.configure(tx, 'weighty', { weight: 2 }))
  const found = await rows(
    'select account_id, gateway, queued, paused, weight from outlay.account_backlog order by account_id',
  )
  expect(found).toEqual([
    { account_id: 'acme', gateway: 'default', queued: 1, paused: false, weight: 1 },
    { account_id: 'idle', gateway: 'default', queued: 0, paused: true, weight: 1 },
    { account_id: 'paused', gateway: 'default', queued: 1, paused: true, weight: 1 },
    { account_id: 'weighty', gateway: 'default', queued: 0, paused: false, weight: 2 },
  ])
  const client = await pool.connect()
  try {
    await client.query(`begin; create role dashboards_of_a_host; grant usage on schema outlay, ${queueSchema} to dashboards_of_a_host;
      grant select on outlay.account_backlog, outlay.subscription_lag, outlay.transfers, outlay.stuck_transfers, ${outboxTable} to dashboards_of_a_host;
      grant select on all tables in schema ${queueSchema} to dashboards_of_a_host; set local role dashboards_of_a_host`)
    for (const view of ['account_backlog', 'subscription_lag', 'transfers', 'stuck_transfers']) {
      await client.query('savepoint before')
      const read = await client.query(`select * from outlay.${view}`).then(
        ({ rows: all }) => all.length,
        (error: Error) => error.message,
      )
      await client.query('rollback to before')
      expect([view, typeof read === 'number' ? 'read' : read]).toEqual([view, 'read'])
    }
  } finally {
    await client.query('rollback')
    client.release()
  }
})

it('searches the accounts of a condition by their index', async () => {
  const { open, enqueueMany, rows } = await testHost()
  const engine = open()
  for (const place of Array(40).keys()) await enqueueMany(engine, 100, `account-${place}`)
  await rows('analyze outlay.transfer')
  const plan = await rows(
    `explain select * from outlay.account_backlog where account_id = any (array['account-7', 'account-8'])`,
  )
  const text = plan.map((line) => line['QUERY PLAN']).join('\n')
  expect(text.match(/Index Cond: \(\(*account_id/g)?.length ?? 0, text).toBeGreaterThanOrEqual(2)
})
