import { randomBytes } from 'node:crypto'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createService } from './service.ts'

describe('a service that is stopped while another session has a table locked', async () => {
  const database = await testDatabase({ role: 'ordinary' })
  const pool = new Pool({ connectionString: database.url, max: 10 })
  const other = new Pool({ connectionString: database.url, max: 2 })
  afterAll(() => Promise.all([pool.end(), other.end()]))
  const options = { pool, encryptionKey: randomBytes(32) }
  const first = createService({ ...options, rails: 'simulated' })
  beforeAll(() => first.migrate())

  const waiting = async () => {
    const { rows } = await other.query(
      `select 1 from pg_locks where not granted and relation is not null
         and database = (select oid from pg_database where datname = current_database())`,
    )
    return rows.length > 0
  }

  it.each([
    ['automation', 'automations'],
    ['webhook_delivery', 'webhooks'],
  ])('stops everything that does not wait for it, and logs what does: %s', async (table, part) => {
    const logger = recordingLogger()
    const service = createService({ ...options, rails: 'simulated', webhooks: { timeoutMs: 50 }, logger })
    Object.assign(service.context, { stopLimitMs: 2_000 })
    const { engine } = service.context
    await service.start()
    const client = await other.connect()
    try {
      await client.query('begin')
      await client.query(`lock table outlay_service.${table} in access exclusive mode`)
      await waitUntil(waiting)
      await service.stop()
      // A running engine would refuse that.
      await engine.start()
    } finally {
      await client.query('rollback')
      client.release()
      await engine.stop()
    }
    const left = logger.entries.filter(({ message }) => message.includes('did not stop'))
    expect(left.map(({ level, fields }) => ({ level, fields }))).toEqual([
      { level: 'warn', fields: { part, error: 'TimeoutError' } },
    ])
    // What was left ends with the lock, and the service may start again.
    await service.start()
    await service.stop()
  })
})
