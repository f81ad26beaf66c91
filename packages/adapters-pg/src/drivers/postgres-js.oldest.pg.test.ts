import { waitUntil } from '@outlay/testing'
import { describeDriver } from '@outlay/testing/conformance'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import postgresJs from 'postgres'
import { expect, it, vi } from 'vitest'
import { migrateOutbox } from '../../test/outbox.ts'
import { openOwnSocket } from '../../test/own-socket.ts'
import { describeLosses } from '../../test/postgres-js-losses.ts'
import { openPostgresJs, openSql, type SqlOptions } from '../../test/postgres-js-subjects.ts'
import { postgresJsDriver } from './postgres-js.ts'

// The driver, its subject and this file get the oldest release that the driver claims.
vi.mock('postgres', () => import('postgres-3.4.0'))

it('is tested with the oldest release of postgres.js', async () => {
  expect(postgresJs).toBe((await import('postgres-3.4.0')).default)
  expect(await vi.importActual('postgres')).not.toMatchObject({ default: postgresJs })
})

it('a commit is one as soon as Postgres has said so, since this release does not wait for what follows', async () => {
  const { url } = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const socket = openOwnSocket(url)
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const sql = openSql(url, { socket: () => socket } as SqlOptions)
  const driver = postgresJsDriver({ sql, pool })
  const transaction = driver.transaction(async (tx) => {
    await tx`select 1`
    socket.hold()
    return 'well'
  })
  const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])
  await waitUntil(() => socket.held.bytes.subarray(-6).equals(ready))
  socket.release(6)
  expect(await transaction).toBe('well')
  socket.destroy()
  await Promise.all([sql.end(), pool.end()])
})

describeDriver('postgres.js 3.4.0', openPostgresJs)
describeLosses('postgres.js 3.4.0')
