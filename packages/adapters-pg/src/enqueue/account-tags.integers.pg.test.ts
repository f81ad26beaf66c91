import { Id } from '@outlay/core'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { createAccountTags } from './account-tags.ts'

const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
const pool = new pg.Pool({ connectionString: database.url, max: 2 })
afterAll(() => pool.end())

// The process does not learn that a host rolled back, so the place of an account only grows then; behind the largest integer every enqueue of the
// account would fail and end the host's transaction.
it('an account whose host rolls back ten thousand payouts a minute for two days can still enqueue', async () => {
  const tags = createAccountTags(() => 0.01)
  const rolledBack = Array.from({ length: 10_000 }, () => 'acme')
  for (let minute = 0; minute < 2 * 24 * 60; minute += 1) tags.reserveMany(rolledBack)
  const { base } = tags.reserve('acme')
  const id = '01J0000000000000000000000A'
  const { accountId: _, ...request } = samplePayout('acme')
  const values = [id, Id.toUuid(id), 'acme', 'INV-1', 'f', JSON.stringify(request), base, false, null, null, null]
  const written = pool.query(
    'select outlay.enqueue_one($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as written',
    values,
  )
  const result = await written.then(
    () => 'written',
    (error: Error) => error.message,
  )
  expect(result).toBe('written')
}, 120_000)
