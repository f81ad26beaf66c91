import { recordingLogger } from '@outlay/testing'
import { Pool } from 'pg'
import { afterAll, expect, it, vi } from 'vitest'
import { serviceDatabase } from '../test/database.ts'
import { inspect } from '../test/inspection.ts'
import { type Answer, sampleAccount, testContext, testSchema, testService } from '../test/service.ts'
import { tokensRoutes } from './tokens/routes.ts'
import { transfersRoutes } from './transfers/routes.ts'

const database = await serviceDatabase()
const logger = recordingLogger()
const context = testContext({ pool: database.pool, logger })
const { token } = await testService(context).signIn()
/** The same service, with the database of another pool. */
const through = (pool: Pool) => testService(Object.assign(Object.create(context), { pool }) as typeof context)
const expectAway = (answer: Answer) => {
  expect([answer.status, answer.json['code']]).toEqual([503, 'service_unavailable'])
  expect(answer.headers.get('retry-after')).toBe('1')
  expect(answer.headers.get('idempotency-key-evaluated')).toBeNull()
}
const create = { token, body: sampleAccount }

it('a database that is not reached is no failure of the service, and logged with its code', async () => {
  const nowhere = new Pool({ connectionString: 'postgres://127.0.0.1:1/none', connectionTimeoutMillis: 1_000 })
  afterAll(() => nowhere.end())
  expectAway(await through(nowhere).call('/accounts', { token }))
  expectAway(await through(nowhere).call('/accounts', { ...create, key: 'away' }))
  const entries = logger.entries.filter(({ level }) => level === 'error')
  expect(entries.map(({ fields }) => fields['code'])).toEqual(['ECONNREFUSED', 'ECONNREFUSED'])
})

it('so is a pool without a free connection', async () => {
  const pool = new Pool({ connectionString: database.url, max: 1, connectionTimeoutMillis: 3_000 })
  const held = await pool.connect()
  expectAway(await through(pool).call('/accounts', { token }))
  held.release()
  await pool.end()
})

it('so is a session that the server ends, and the same key then gives the account', async () => {
  const name = 'ended_sessions'
  const pool = new Pool({ connectionString: database.url, max: 2, application_name: name })
  pool.on('error', () => undefined)
  const service = through(pool)
  const blocker = await database.pool.connect()
  await blocker.query(`begin; lock table ${testSchema}.account in share mode`)
  const answer = service.call('/accounts', { ...create, key: 'ended' })
  await vi.waitFor(
    async () => {
      const { rows } = await inspect(database.pool).query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'`,
        [name],
      )
      expect(rows.length).toBe(1)
    },
    { timeout: 60_000 },
  )
  expectAway(await answer)
  await blocker.query('rollback')
  blocker.release()
  expect((await service.call('/accounts', { ...create, key: 'ended' })).status).toBe(201)
  await pool.end()
})

it('so is a read that takes too long: the client may repeat it, and the connection goes on', async () => {
  const pool = new Pool({ connectionString: database.url, max: 1 })
  const impatient = Object.assign(Object.create(context), { pool, readTimeoutMs: 300 }) as typeof context
  const service = testService(impatient, [transfersRoutes, tokensRoutes])
  const accountId = await through(pool).createAccount(token)
  const path = `/accounts/${accountId}`
  const pids = async () => (await inspect(pool).query('select pg_backend_pid() as pid')).rows
  const before = await pids()
  const blocker = await database.pool.connect()
  await blocker.query(`begin; lock table ${testSchema}.account, ${testSchema}.transfer in access exclusive mode`)
  // Nothing but the limit ends their wait.
  for (const read of [path, `${path}/transfers`, `${path}/tokens/mints`, `/tokens/transfers`]) {
    const answer = await service.call(read, { token })
    expect([answer.status, answer.json['code'], answer.headers.get('retry-after')]).toEqual([
      503,
      'service_unavailable',
      '5',
    ])
  }
  const prepared = await service.call(`${path}/addresses/internal`, {
    token,
    key: 'slow',
    body: { name: 'Payroll', transfer_types: ['sepolia'] },
  })
  expect([prepared.status, prepared.headers.get('idempotency-key-evaluated')]).toEqual([503, null])
  await blocker.query('rollback')
  blocker.release()
  expect((await through(pool).call(path, { token })).status).toBe(200)
  expect(await pids()).toEqual(before)
  await pool.end()
})

it('any other error of the database is a failure', async () => {
  const elsewhere = testService(Object.assign(Object.create(context), { schema: 'nowhere' }) as typeof context)
  const answer = await elsewhere.call('/accounts', { token })
  expect([answer.status, answer.json['code']]).toEqual([500, 'internal_error'])
})
