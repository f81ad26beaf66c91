import { Id } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('a fetch', async () => {
  const { pool, open, commit, enqueue, enqueueMany, rows } = await testHost({ max: 20 })
  const fetch = async (limit: number, turn: string | null) =>
    (await pool.query('select jobs, turn from outlay.queue_fetch($1, $2)', [limit, turn])).rows[0]

  it('ends where accounts begin to wait for as long as it takes, and the rounds stay small', async () => {
    await pool.query(`
      create function arrive() returns trigger language plpgsql as $$ begin
        insert into outlay.outbox (id, account_id, due_at, ready) values (gen_random_uuid(), 'small', now(), true);
        return null;
      end $$;
      create trigger arrive after delete on outlay.outbox for each statement execute function arrive()`)
    try {
      await enqueue(open(), { accountId: 'small' })
      const first = await fetch(100, null)
      expect(first.jobs.length).toBeGreaterThan(0)
      expect(first.jobs.length).toBeLessThan(20)
      expect(Number(first.turn.split(' ')[0])).toBeLessThan(1_000_000)
      // A worker of earlier code may have left off at any round.
      await enqueueMany(open(), 200, 'small')
      const later = await fetch(100, '9000000000000000000 0 ')
      expect(Number(later.turn.split(' ')[0])).toBeLessThan(1e13)
    } finally {
      await pool.query('drop function arrive cascade')
    }
  })

  it('goes on to the next account where the last one has had its turn, or has nothing more', async () => {
    const engine = open()
    const client = await pool.connect()
    await client.query(`set statement_timeout = '10s'`)
    const fetchOne = async (turn: string) =>
      (await client.query('select jobs from outlay.queue_fetch(1, $1)', [turn])).rows[0].jobs
    // Weight 1, so that one of a turn is all of it; weight 3, of which two are left but nothing waits.
    for (const turn of ['5 1 absent', '5 4000 absent', '5 1 weighty']) {
      await enqueue(engine, { accountId: 'present' })
      await commit((tx) => engine.accounts.configure(tx, 'weighty', { weight: 3 }))
      expect(await fetchOne(turn)).toHaveLength(1)
    }
    await enqueueMany(engine, 5, 'weighty')
    await enqueue(engine, { accountId: 'present' })
    const { rows: fetched } = await client.query(`select jobs from outlay.queue_fetch(3, '5 2 weighty')`)
    expect(fetched[0].jobs).toHaveLength(3)
    await client.query('reset statement_timeout')
    client.release()
  })

  it('takes single rounds where several at once would lock very many', async () => {
    const fill = (accounts: string, each: number) =>
      rows(
        `insert into outlay.outbox (id, account_id, due_at, ready)
         select gen_random_uuid(), a.id, now(), true from ${accounts} as a (id), generate_series(1, $1)`,
        [each],
      )
    await rows(`insert into outlay.account (account_id, weight) values ('a', 100), ('b', 100), ('c', 0.01)`)
    await fill(`(values ('a'), ('b'))`, 6_000)
    await fill(`(values ('c'))`, 1)
    const dequeue = `select cardinality(t.ids) as count, t.rounds::integer, t.last_account, t.last_used::integer
      from outlay.queue_dequeue_turns('', 0, 0, $1, '{}', 150, null, 10000) t`
    expect(await rows(dequeue, [40])).toEqual([{ count: 150, rounds: 40, last_account: 'b', last_used: 50 }])
    expect(await rows(dequeue, [60])).toEqual([{ count: 150, rounds: 1, last_account: 'b', last_used: 50 }])
  })

  it('passes an account whose rows a host has locked, and comes back to it when they are free', async () => {
    const engine = open()
    await enqueueMany(engine, 1_500, 'flood')
    await enqueueMany(engine, 30, 'small')
    const host = await pool.connect()
    await host.query('begin')
    await host.query(`select from outlay.outbox where account_id = 'flood' for update`)
    const first = await fetch(100, null)
    expect(first.jobs).toHaveLength(30)
    await host.query('rollback')
    host.release()
    expect((await fetch(100, first.turn)).jobs).toHaveLength(100)
  })

  it('finds at once what is due behind very many that became due before, although no slot is free meanwhile', async () => {
    const gateway = memoryGateway()
    const hold = Promise.withResolvers<undefined>()
    const submit: typeof gateway.submit = async (...given) => {
      await hold.promise
      return gateway.submit(...given)
    }
    const engine = open({ gateway: { ...gateway, submit } })
    const at = Date.now() + 2_000
    await commit((tx) =>
      engine.transfers.enqueueMany(
        tx,
        Array.from({ length: 5_000 }, () => ({ ...samplePayout('payroll'), notBefore: new Date(at) })),
      ),
    )
    const { id } = await enqueue(engine, { accountId: 'small', notBefore: new Date(at + 10) })
    await engine.start({ concurrency: 1 })
    const isReady = 'select ready from outlay.outbox where id = $1'
    await waitUntil(async () => (await rows(isReady, [Id.toUuid(id)]))[0]?.ready === true)
    hold.resolve(undefined)
  })
})
