import { randomBytes } from 'node:crypto'
import { createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, beforeAll, expect } from 'vitest'
import { postgres } from '../src/backend.ts'
import { pgDriver } from '../src/drivers/pg.ts'
import { rolesSql } from '../src/schema/roles.ts'

const parts = ['enqueue', 'worker', 'migrator', 'reader'] as const

/** One of the roles. */
export type Part = (typeof parts)[number]

/** A database with the four roles and a login of each, for the tests of the `describe` that calls it. */
export async function roleHost() {
  // Roles belong to the server, which other tests share.
  const suffix = randomBytes(6).toString('hex')
  const nameOf = (part: Part) => `${part}-${suffix}`
  const roles = Object.fromEntries(parts.map((part) => [part, nameOf(part)]))
  const database = await testDatabase()
  const admin = new pg.Pool({ connectionString: database.url, max: 2 })
  admin.on('error', () => undefined)
  const pools = new Map<Part, pg.Pool>()
  const as = (part: Part) => pools.get(part) as pg.Pool
  const gateway = memoryGateway()
  const engineOf = (part: Part) => createEngine({ backend: postgres({ driver: pgDriver(as(part)) }), gateway })
  const commit = <T>(part: Part, work: (tx: pg.PoolClient) => Promise<T>) => pgDriver(as(part)).transaction(work)

  beforeAll(async () => {
    await admin.query(rolesSql({ roles }))
    for (const part of parts) {
      const password = randomBytes(12).toString('hex')
      await admin.query(`create role "login-${nameOf(part)}" login password '${password}' in role "${nameOf(part)}"`)
      await admin.query(`alter role "login-${nameOf(part)}" set role = "${nameOf(part)}"`)
      const url = Object.assign(new URL(database.url), { username: `login-${nameOf(part)}`, password })
      const pool = new pg.Pool({ connectionString: url.toString(), max: 12 })
      pool.on('error', () => undefined)
      pools.set(part, pool)
    }
    await engineOf('migrator').migrate()
    await admin.query(rolesSql({ roles }))
  })
  afterAll(async () => {
    await Promise.all([...pools.values()].map((pool) => pool.end()))
    for (const part of parts) {
      await admin.query(`drop owned by "${nameOf(part)}" cascade`)
      await admin.query(`drop role "login-${nameOf(part)}", "${nameOf(part)}"`)
    }
    await admin.end()
  })
  /** Expects a statement to be refused for lack of a privilege. */
  const forbid = async (part: Part, text: string) => {
    await expect(as(part).query(text), `${part}: ${text}`).rejects.toMatchObject({ code: '42501' })
  }
  return { admin, as, commit, engineOf, forbid, gateway, nameOf }
}
