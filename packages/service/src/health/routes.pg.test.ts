import { manualClock, recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, expect, it, onTestFinished, vi } from 'vitest'
import { testContext, testService } from '../../test/service.ts'
import { migrateService } from '../database/migrations.ts'

const database = await testDatabase({ role: 'ordinary' })
const pool = new Pool({ connectionString: database.url, max: 2 })
const nowhere = new Pool({ connectionString: 'postgres://127.0.0.1:1/none', connectionTimeoutMillis: 1_000 })
afterAll(() => Promise.all([pool.end(), nowhere.end()]))

const logger = recordingLogger()
const serviceWith = (parts: {
  readonly pool: Pool
  readonly schema?: string
  readonly isRunning?: () => boolean
  readonly readinessCacheMs?: number
}) => testService(testContext({ clock: manualClock(), logger, readinessCacheMs: 0, ...parts }))

it('is alive even if the database is down', async () => {
  const answer = await serviceWith({ pool: nowhere }).call('/health')
  expect([answer.status, answer.json]).toEqual([200, { healthy: true }])
})

it('is ready when the database, the tables and the engine are', async () => {
  let running = false
  const isRunning = () => running
  const schema = 'readiness'
  const gone = await serviceWith({ pool: nowhere, schema, isRunning }).call('/ready')
  expect([gone.status, gone.json]).toEqual([
    503,
    { ready: false, database: false, migrated: false, engine: false, keys: false },
  ])
  const service = serviceWith({ pool, schema, isRunning })
  const bare = await service.call('/ready')
  expect([bare.status, bare.json]).toEqual([
    503,
    { ready: false, database: true, migrated: false, engine: false, keys: false },
  ])
  await migrateService({ pool, schema })
  expect((await service.call('/ready')).json).toMatchObject({ ready: false, migrated: true, engine: false })
  running = true
  const ready = await service.call('/ready')
  expect([ready.status, ready.json['ready']]).toEqual([200, true])
  await pool.query(`delete from ${schema}.migration where name like '0001%'`)
  expect((await service.call('/ready')).status).toBe(503)
})

it('logs one line per request, by its route and without ids or bodies', async () => {
  await migrateService({ pool, schema: 'requests' })
  const service = serviceWith({ pool, schema: 'requests' })
  const { token } = await service.signIn()
  const accountId = await service.createAccount(token)
  const before = logger.entries.length
  const answer = await service.call(`/accounts/${accountId}/addresses?address=0xabc`, { token })
  await service.call(`/nothing/${accountId}`, { token })
  await service.call('/health')
  const lines = logger.entries.slice(before)
  expect(lines.map(({ level, fields }) => [level, fields['method'], fields['route'], fields['status']])).toEqual([
    ['info', 'GET', '/accounts/:account_id/addresses', 200],
    ['info', 'GET', null, 404],
    ['debug', 'GET', '/health', 200],
  ])
  expect(lines[0]?.fields['requestId']).toBe(answer.headers.get('x-request-id'))
  expect(lines[0]?.fields['durationMs']).toBeGreaterThan(0)
  for (const secret of [accountId, token, '0xabc']) expect(JSON.stringify(logger.entries)).not.toContain(secret)
})

it('answers many probes from one statement, and shows at once that the engine has stopped', async () => {
  let running = true
  const connect = vi.spyOn(pool, 'connect')
  onTestFinished(() => connect.mockRestore())
  const service = serviceWith({ pool, schema: 'requests', isRunning: () => running, readinessCacheMs: 60_000 })
  const answers = await Promise.all(Array.from({ length: 500 }, () => service.call('/ready')))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(connect).toHaveBeenCalledTimes(1)
  running = false
  expect((await service.call('/ready')).status).toBe(503)
  expect(connect).toHaveBeenCalledTimes(1)
})

it('asks again when the answer is older', async () => {
  const service = serviceWith({ pool, schema: 'requests', isRunning: () => true, readinessCacheMs: 20 })
  await service.call('/ready')
  const connect = vi.spyOn(pool, 'connect')
  onTestFinished(() => connect.mockRestore())
  await vi.waitFor(
    async () => {
      await service.call('/ready')
      expect(connect).toHaveBeenCalled()
    },
    { timeout: 60_000 },
  )
})
