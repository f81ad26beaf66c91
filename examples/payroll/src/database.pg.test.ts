import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { migrateDatabase, migrationLock, openDatabase } from './database.ts'

const { url } = await testDatabase()
const db = openDatabase(url)
afterAll(() => db.$client.end())

const read = async (text: string) => (await db.$client.query<Record<string, unknown>>(text)).rows[0]

it('two processes that migrate at once do so one after the other', async () => {
  const other = await db.$client.connect()
  await other.query('select pg_advisory_lock($1)', [migrationLock])
  const migrations = [migrateDatabase(db), migrateDatabase(db)]
  const waiting = `select count(*)::integer as count from pg_locks where locktype = 'advisory' and not granted
    and database = (select oid from pg_database where datname = current_database())`
  await waitUntil(async () => (await read(waiting))?.['count'] === 2)
  expect(await read(`select to_regnamespace('drizzle') as found`)).toEqual({ found: null })
  other.release(true)
  await Promise.all(migrations)
  expect(await read(`select to_regclass('payslip') is not null as found`)).toEqual({ found: true })
  await migrateDatabase(db)
})
