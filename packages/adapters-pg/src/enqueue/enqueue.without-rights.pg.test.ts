import { randomBytes } from 'node:crypto'
import { createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import type { DriverSubject } from '@outlay/testing/conformance'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { openDrizzle, openKnex, openKysely, openPg, openPrismaClient } from '../../test/driver-subjects.ts'
import { openMikroOrmSubject } from '../../test/mikro-orm-subject.ts'
import { openNeon } from '../../test/neon-subject.ts'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { openDrizzlePostgresJs, openPostgresJs } from '../../test/postgres-js-subjects.ts'
import { openSequelizeSubject } from '../../test/sequelize-subject.ts'
import { openTypeorm } from '../../test/typeorm-subject.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'
import { rolesSql } from '../schema/roles.ts'

describe('an enqueue that Postgres does not let through says what to do', () => {
  describe('pg', () => describeRefusals(openPg))
  describe('drizzle', () => describeRefusals(openDrizzle))
  describe('drizzle over postgres.js', () => describeRefusals(openDrizzlePostgresJs))
  describe('kysely', () => describeRefusals(openKysely))
  describe('knex', () => describeRefusals(openKnex))
  describe('prisma', () => describeRefusals(openPrismaClient))
  describe('postgres.js', () => describeRefusals(openPostgresJs))
  describe('sequelize', () => describeRefusals(openSequelizeSubject))
  describe('typeorm', () => describeRefusals(openTypeorm))
  describe('neon', () => describeRefusals(openNeon))
  describe('mikro-orm', () => describeRefusals(openMikroOrmSubject))

  it('also where the transaction has the only connection, and cannot be asked for its role', async () => {
    await using host = await openHost()
    const pool = new pg.Pool({ connectionString: host.url, max: 1 })
    pool.on('error', () => undefined)
    const driver = pgDriver(pool)
    const engine = createEngine({ backend: postgres({ driver }), gateway: memoryGateway() })
    const enqueuing = driver.transaction((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await expect(enqueuing).rejects.toMatchObject({
      code: 'insufficient_privilege',
      message: expect.stringContaining(
        'The database role of this transaction may not enqueue in the schema "outlay"; run "outlay roles"',
      ),
    })
    await pool.end()
  })
})

/** A database with a login that may do nothing there. */
async function openHost() {
  const { url } = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const suffix = randomBytes(6).toString('hex')
  const [login, password] = [`web-${suffix}`, randomBytes(12).toString('hex')]
  const roles = {
    enqueue: `enqueue-${suffix}`,
    worker: `worker-${suffix}`,
    migrator: `owner-${suffix}`,
    reader: `reader-${suffix}`,
  }
  const admin = new pg.Pool({ connectionString: url, max: 1 })
  admin.on('error', () => undefined)
  await admin.query(`create role "${login}" login password '${password}'`)
  return {
    ...{ admin, login, roles },
    url: Object.assign(new URL(url), { username: login, password }).toString(),
    async [Symbol.asyncDispose]() {
      const { rows } = await admin.query('select rolname from pg_roles where rolname like $1', [`%${suffix}`])
      for (const { rolname } of rows) await admin.query(`drop owned by "${rolname}" cascade; drop role "${rolname}"`)
      await admin.end()
    },
  }
}

function describeRefusals<Tx>(open: (url: string) => DriverSubject<Tx> | Promise<DriverSubject<Tx>>): void {
  it('by the name of its role and the grant', async () => {
    await using host = await openHost()
    const { admin, login, roles } = host
    const subject = await open(host.url)
    const engine = createEngine({ backend: subject.backend, gateway: memoryGateway() })
    const enqueue = () => subject.transaction((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    const saying = (text: string) => ({ code: 'insufficient_privilege', message: expect.stringContaining(text) })
    const who = `The database role "${login}" may not enqueue in the schema "outlay"; `
    try {
      await expect(enqueue()).rejects.toMatchObject(
        saying(`${who}run "outlay roles" as an administrator, and then: grant outlay_enqueue to "${login}".`),
      )
      await admin.query(rolesSql({ roles }))
      await expect(enqueue()).rejects.toMatchObject(
        saying(`${who}as an administrator: grant "${roles.enqueue}" to "${login}".`),
      )
      await admin.query(`grant "${roles.enqueue}" to "${login}"`)
      expect(await enqueue()).toMatchObject({ reused: false })
      await admin.query(`revoke execute on all functions in schema outlay from public, "${roles.enqueue}"`)
      await expect(enqueue()).rejects.toMatchObject(saying(`${who}run "outlay roles" as an administrator again`))
    } finally {
      await subject.close()
    }
  })

  it('by the command that migrates', async () => {
    const subject = await open((await testDatabase()).url)
    const engine = createEngine({ backend: subject.backend, gateway: memoryGateway() })
    try {
      await expect(
        subject.transaction((tx) => engine.transfers.enqueue(tx, samplePayout('acme'))),
      ).rejects.toMatchObject({ code: 'not_migrated', message: expect.stringContaining('outlay migrate') })
    } finally {
      await subject.close()
    }
  })
}
