import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'
import { resolveNames } from './database-names.ts'
import { applyMigrations, engineMigrations } from './migrate.ts'

describe('a migration of a database whose archive has logs that are asked for ever', async () => {
  const database = await testDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  afterAll(() => pool.end())
  const rows = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows

  const attempt = { attempt: 1, worker: 'w', claimed_at: '2025-01-01T00:00:00Z', answered_at: '2025-01-01T00:00:01Z' }
  /** The log of each transfer as earlier code archived it. */
  const logs: Readonly<Record<string, readonly object[]>> = {
    usual: [{ ...attempt, outcome: 'accepted', remote_id: 'remote-1', unmatched: null }],
    refused: [],
    late: [
      { ...attempt, outcome: 'unknown', remote_id: null, unmatched: null },
      { ...attempt, attempt: 2, outcome: 'accepted', remote_id: 'remote-2', unmatched: false },
    ],
    mismatched: [{ ...attempt, outcome: 'key_mismatch' }],
  }

  it('brings these back to the live log, and leaves all others and the events', async () => {
    const client = await pool.connect()
    // The views of this release need its later tables.
    const earlier = engineMigrations.filter(({ name }) => !/^000[67]_/.test(name))
    await applyMigrations(client, { schema: 'outlay', migrations: earlier, tokens: resolveNames({}).tokens })
    client.release()
    const ids = Object.keys(logs)
    const event = { sequence: 2, type: 'transfer.canceled', stage: 'settled', status: 'canceled', attempt: 1 }
    const history = Object.fromEntries(
      ids.map((id) => [
        id,
        {
          events: [{ ...event, transfer_id: id, occurred_at: attempt.claimed_at }],
          attempts: logs[id]?.map((one) => ({ ...one, transfer_id: id })),
        },
      ]),
    )
    await rows(
      `insert into outlay.transfer (id, account_id, idempotency_key, fingerprint, request, stage, status, archive_page)
       select id, 'acme', id, '', '{}', 'settled', 'canceled', 1 from unnest($1::text[]) as n (id)`,
      [ids],
    )
    await rows('insert into outlay.archive (transfers, history) values ($1, $2)', [ids.length, JSON.stringify(history)])
    await rows(`insert into outlay.archive (transfers, history) values (0, '{}')`)
    const read = () =>
      rows(`select t.id, a.attempt, a.outcome, a.remote_id, a.unmatched, a.claimed_at
        from outlay.transfer t cross join lateral outlay.logged_attempts_of(t.id) a order by 1, 2`)
    const before = await read()
    expect(before).toHaveLength(4)

    await postgres({ driver: pgDriver(pool) }).migrate()
    expect(await read()).toEqual(before)
    expect(await rows('select transfer_id, attempt from outlay.attempt order by 1, 2')).toEqual([
      { transfer_id: 'late', attempt: 1 },
      { transfer_id: 'late', attempt: 2 },
      { transfer_id: 'mismatched', attempt: 1 },
    ])
    expect(await rows(`select t.id from outlay.logged_owners('acme', 'remote-2') t`)).toEqual([{ id: 'late' }])
    const events = await rows(
      'select t.id from outlay.transfer t cross join lateral outlay.events_of(t.id) e where e.sequence = 2',
    )
    expect(events).toHaveLength(ids.length)
  })
})
