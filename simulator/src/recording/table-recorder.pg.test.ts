import { startPostgres } from '@outlay/testing'
import { Pool } from 'pg'
import { expect, it } from 'vitest'
import { type Row, recordTables } from './table-recorder.ts'

it('hands over the rows that were committed, once each and in the order of commits, across a crash of the server', async () => {
  await using postgres = await startPostgres({ provider: 'embedded', settings: { wal_level: 'logical' } })
  const pool = new Pool({ connectionString: await postgres.createDatabase(), max: 3 })
  pool.on('error', () => undefined)
  await pool.query('create table payout (number integer, said text); create table other (number integer)')
  const rows: Row[] = []
  const query = async (text: string, values?: readonly unknown[]) =>
    (await pool.query(text, values && [...values])).rows
  const recorder = await recordTables(query, { name: 'judge', tables: ['payout'], onRow: (row) => void rows.push(row) })
  const [early, late] = [await pool.connect(), await pool.connect()]
  await early.query(`begin; insert into payout values (1, 'first to begin')`)
  await late.query(
    `begin; insert into payout values (2, 'first to commit'), (3, null); insert into other values (1); commit`,
  )
  await early.query('commit')
  await early.query(`begin; insert into payout values (4, 'rolled back'); rollback`)
  await late.query(`begin; insert into payout values (6, 'taken back'); delete from payout where number = 6; commit`)
  for (const client of [early, late]) client.release()
  const began = Date.now()
  await recorder.drain()
  const seen = () => rows.map(({ table, columns }) => [table, columns['number'], columns['said']])
  const expected = [
    ['payout', '2', 'first to commit'],
    ['payout', '3', null],
    ['payout', '1', 'first to begin'],
  ]
  expect(seen()).toEqual(expected)
  expect(Math.abs((rows[0]?.at ?? 0) - began)).toBeLessThan(600_000)
  await pool.query('delete from payout where number = 2')
  await postgres.restart({ mode: 'immediate' })
  await pool.query(`insert into payout values (5, 'after the crash')`)
  await Promise.all([recorder.drain(), recorder.drain()])
  expect(seen()).toEqual([...expected, ['payout', '5', 'after the crash']])
  await recorder.stop()
  expect((await pool.query('select from pg_replication_slots')).rowCount).toBe(0)
  await pool.end()
})
