import { type Backend, createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { type DriverSubject, noteTableSql } from '@outlay/testing/conformance'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { openDrizzle, openKnex, openKysely, openPg, openPrismaClient } from '../../test/driver-subjects.ts'
import { openMikroOrmSubject } from '../../test/mikro-orm-subject.ts'
import { openNeon } from '../../test/neon-subject.ts'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { openPostgresJs } from '../../test/postgres-js-subjects.ts'
import { openSequelizeSubject } from '../../test/sequelize-subject.ts'
import { openTypeorm } from '../../test/typeorm-subject.ts'
import { chunkSize } from './enqueue-chunks.ts'

// With one savepoint of one name for both, a refusal of the one undid what the other had written and said so.
describe('enqueues of one transaction at once, of which one has a savepoint', () => {
  describe('pg', () => describeAtOnce(openPg))
  describe('drizzle', () => describeAtOnce(openDrizzle))
  describe('kysely', () => describeAtOnce(openKysely))
  describe('knex', () => describeAtOnce(openKnex))
  describe('prisma', () => describeAtOnce(openPrismaClient))
  describe('postgres.js', () => describeAtOnce(openPostgresJs))
  describe('sequelize', () => describeAtOnce(openSequelizeSubject))
  describe('typeorm', () => describeAtOnce(openTypeorm))
  describe('neon', () => describeAtOnce(openNeon))
  describe('mikro-orm', () => describeAtOnce(openMikroOrmSubject))
})

function describeAtOnce<Tx>(open: (url: string) => DriverSubject<Tx> | Promise<DriverSubject<Tx>>): void {
  it.each([
    ['many', chunkSize + 1],
    ['few', 2],
    ['one', 1],
  ])('are refused, and what says that it is written is: thousands and %s', async (_, count) => {
    const { url } = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
    const admin = new pg.Pool({ connectionString: url, max: 1 })
    await admin.query(noteTableSql)
    const subject = await open(url)
    try {
      const said = await subject.transaction((tx) => enqueueAtOnce(subject.backend, tx, count))
      const { rows } = await admin.query('select idempotency_key as key from outlay.transfer')
      expect(rows.map(({ key }) => key).sort()).toEqual([...said].sort())
    } finally {
      await subject.close()
      await admin.end()
    }
  })
}

/** Enqueues while thousands are written that are refused at last; returns the keys of all that is said to be written. */
async function enqueueAtOnce<Tx>(backend: Backend<Tx>, tx: Tx, count: number): Promise<readonly string[]> {
  const gateway = memoryGateway()
  const other = createEngine({ backend, gateway })
  const payouts = (name: string, length: number) =>
    Array.from({ length }, (_, n) => samplePayout(name, { idempotencyKey: `${name}-${n}` }))
  const known = samplePayout('z', { idempotencyKey: 'z-known' })
  await other.transfers.enqueue(tx, known)
  const begun = Promise.withResolvers<void>()
  const enqueue: Backend<Tx>['enqueue'] = (...given) => {
    const enqueued = backend.enqueue(...given)
    begun.resolve()
    return enqueued
  }
  const engine = createEngine({ backend: { ...backend, enqueue }, gateway })
  const broken = { ...known, amount: { value: '1.00', currency: 'USD' } }
  const calls = await Promise.allSettled([
    engine.transfers.enqueueMany(tx, [...payouts('y', chunkSize + 1), broken]),
    begun.promise.then(() => other.transfers.enqueueMany(tx, payouts('a', count))),
  ])
  expect(calls).toMatchObject([
    { status: 'rejected', reason: { code: 'idempotency_key_mismatch' } },
    { status: 'rejected', reason: { code: 'conflict', field: 'tx' } },
  ])
  // The transaction is usable, and nothing is left of the savepoint.
  const after = await engine.transfers.enqueueMany(tx, [...payouts('a', count), ...payouts('x', chunkSize + 1)])
  return [known, ...after].map(({ idempotencyKey = '' }) => idempotencyKey)
}
