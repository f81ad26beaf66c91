import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

/** Rows of the outbox that are gone, but not for a transaction that began before. */
const dead = 30_000

const fetches = 20

describe('a fetch while a transaction is open that might see dead rows', async () => {
  const { pool, open, enqueue } = await testHost({ max: 20 })

  const fetch = async (turn: string | null) => {
    const { rows } = await pool.query<{ job: string; turn: string }>(
      `select job, turn from outlay.fetch_and_claim(100, 'worker', null, $1)`,
      [turn],
    )
    return { jobs: rows.map(({ job }) => job), turn: rows[0]?.turn ?? turn }
  }

  const readEntries = async (): Promise<number> => {
    await pool.query('select pg_stat_force_next_flush() from generate_series(1, 2)')
    const { rows } = await pool.query(`select sum(idx_tup_read)::integer as entries from pg_stat_user_indexes
      where schemaname = 'outlay' and relname = 'outbox'`)
    return rows[0].entries
  }

  it('does not read all of them each time, and finds what a host commits late', async () => {
    const engine = open()
    const reader = await pool.connect()
    await reader.query('begin isolation level repeatable read')
    await reader.query('select count(*) from outlay.outbox')
    await pool.query(
      `insert into outlay.outbox (id, account_id, due_at, ready)
       select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 100000 + n), 12, '0') || repeat('0', 20))::uuid,
         'account-' || n % 20, now(), true
       from generate_series(1, $1::integer) n`,
      [dead],
    )
    await pool.query('delete from outlay.outbox')
    await enqueue(engine)
    let last = await fetch(null)
    expect(last.jobs).toHaveLength(1)
    const before = await readEntries()
    for (let n = 0; n < fetches; n += 1) {
      await enqueue(engine, { accountId: `account-${n}` })
      last = await fetch(last.turn)
      expect(last.jobs).toHaveLength(1)
    }
    expect((await readEntries()) - before).toBeLessThan((fetches * dead) / 2)

    // Its host began long ago.
    const { id } = await enqueue(engine)
    await pool.query(`update outlay.outbox set id = ('0' || substr(id::text, 2))::uuid where id = outlay.job_id($1)`, [
      id,
    ])
    let found = 0
    while (found === 0) found = (await fetch(last.turn)).jobs.length
    await reader.query('rollback')
    reader.release()
  })
})
