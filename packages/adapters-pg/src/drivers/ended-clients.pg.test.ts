import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { expect, it } from 'vitest'
import { releaseEndedClients } from './ended-clients.ts'

const { url } = await testDatabase()

it('a client whose connection ends while it is checked out leaves its place to others', async () => {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  pool.on('error', () => undefined)
  releaseEndedClients(pool)
  const lost = await pool.connect()
  lost.on('error', () => undefined)
  const waiting = pool.connect()
  await expect(lost.query('select pg_terminate_backend(pg_backend_pid())')).rejects.toThrow()
  // Nobody has released the first.
  const next = await waiting
  expect((await next.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  // Whoever does so later does no harm.
  expect(() => lost.release()).not.toThrow()
  next.release()
  await pool.end()
})
