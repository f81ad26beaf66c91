import { randomBytes } from 'node:crypto'
import { pgDriver, postgres, rolesSql } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { memoryGateway, silentLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createConsole } from './console.ts'
import { routes } from './routes.ts'

// Roles belong to the server, which other tests share.
const suffix = randomBytes(6).toString('hex')
const roles = {
  enqueue: `enqueue-${suffix}`,
  worker: `worker-${suffix}`,
  migrator: `migrator-${suffix}`,
  reader: `reader-${suffix}`,
}

describe('the role of the database', async () => {
  const database = await testDatabase()
  const admin = new pg.Pool({ connectionString: database.url, max: 2 })
  const pools: pg.Pool[] = []
  const consoleOf = (role: string) => {
    const pool = new pg.Pool({ connectionString: database.url, max: 4, options: `-c role=${role}` })
    pools.push(pool)
    const driver = pgDriver(pool)
    const engine = createEngine({ backend: postgres({ driver, logger: silentLogger }), gateway: memoryGateway() })
    const { fetch } = createConsole({
      ...{ engine, driver, logger: silentLogger, rateLimit: { perSecond: 1_000, burst: 1_000 } },
      authorize: () => ({ actor: 'ada', permissions: { read: 'all', act: 'all', approve: 'all', configure: 'all' } }),
    })
    const call = async (method: string, path: string, body?: object) => {
      const headers = { 'content-type': 'application/json', 'x-outlay-console': '1' }
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      return (await fetch(new Request(`http://localhost/api${path}`, { method, headers, ...sent }))).status
    }
    const enqueue = () =>
      driver.transaction((tx) =>
        engine.transfers.enqueue(tx, {
          accountId: 'acme',
          amount: { value: '12.50', currency: 'USD' },
          source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
          destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
        }),
      )
    const createBatch = () => driver.transaction((tx) => engine.batches.create(tx, { accountId: 'acme' }))
    return { call, enqueue, createBatch }
  }

  beforeAll(async () => {
    await postgres({ driver: pgDriver(admin) }).migrate()
    await admin.query(rolesSql({ roles }))
  })
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
    for (const role of Object.values(roles)) {
      await admin.query(`drop owned by "${role}" cascade`)
      await admin.query(`drop role "${role}"`)
    }
    await admin.end()
  })

  it('may be that of workers for everything, and that of readers for what is only shown', async () => {
    const worker = consoleOf(roles.worker)
    const reader = consoleOf(roles.reader)
    const { id } = await worker.enqueue()
    const batch = await worker.createBatch()
    for (const { path } of routes.filter(({ method }) => method === 'get')) {
      const filled = path.replace(':transferId', id).replace(':batchId', batch.id).replace(':accountId', 'acme')
      const account = path.endsWith('/by-key') ? '?accountId=acme&' : '?'
      const query = /\/(by|with)-key$/.test(path) ? `${account}idempotencyKey=${id}` : ''
      const line = `${filled}${path.endsWith('/by-remote-id') ? '?remoteId=r' : query}`
      expect([line, await worker.call('GET', line)]).toEqual([line, 200])
      expect([line, await reader.call('GET', line)]).toEqual([line, 200])
    }
    const reason = 'a test of roles'
    const actions: readonly (readonly [method: string, path: string, body?: object])[] = [
      ...['hold', 'release', 'cancel', 'resubmit'].map((verb) => ['POST', `/transfers/${id}/${verb}`] as const),
      ...['pause', 'resume', 'stop', 'start'].map((verb) => ['POST', `/accounts/acme/${verb}`] as const),
      ...['pause', 'resume', 'cancel'].map((verb) => ['POST', `/batches/${batch.id}/${verb}`] as const),
      ['PATCH', '/accounts/acme/limits', { weight: 2 }],
      ['PUT', '/policies', { expectedVersion: 0, policies: [{ name: 'four-eyes', approvals: [{}] }] }],
      ['POST', '/stops/add', { scope: 'all' }],
    ]
    for (const [method, path, body] of actions) {
      expect([path, await reader.call(method, path, { ...body, reason })]).toEqual([path, 503])
      expect([path, await worker.call(method, path, { ...body, reason })]).toEqual([path, 200])
    }
  })
})
