import { createEngine, type Engine, type EnqueuedTransfer, type EnqueueRequest, OutlayError } from '@outlay/core'
import {
  createTemplate,
  type DatabaseTemplate,
  drain,
  memoryGateway,
  type Postgres,
  startPostgres,
} from '@outlay/testing'
import { type DriverSubject, noteTableSql } from '@outlay/testing/conformance'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDrizzle, openKnex, openKysely, openPg, openPrismaClient } from '../test/driver-subjects.ts'
import { openDrizzleNeon, openNeon } from '../test/neon-subject.ts'
import { migrateOutbox, samplePayout } from '../test/outbox.ts'
import { openDrizzlePostgresJs, openPostgresJs } from '../test/postgres-js-subjects.ts'
import { outboxTable } from '../test/queue.ts'
import { openSequelizeSubject } from '../test/sequelize-subject.ts'
import { openTypeorm } from '../test/typeorm-subject.ts'

// The oldest version that the engine supports, and the newest. What each driver promises beyond these five cases is in
// the conformance suite, on the server of the run.
describe.each([15, 18])('PostgreSQL %i', (version) => {
  let server: Postgres
  let template: DatabaseTemplate
  beforeAll(async () => {
    server = await startPostgres({ provider: 'embedded', durable: false, version })
    expect(server.version).toMatch(new RegExp(`^${version}\\.`))
    template = await createTemplate(server, 'outlay', migrateOutbox)
  })
  afterAll(() => server.stop())
  const createDatabase = () => template.clone()

  describe('× pg', () => describeCases(createDatabase, openPg))
  describe('× drizzle', () => describeCases(createDatabase, openDrizzle))
  describe('× kysely', () => describeCases(createDatabase, openKysely))
  describe('× knex', () => describeCases(createDatabase, openKnex))
  describe('× prisma', () => describeCases(createDatabase, openPrismaClient))
  describe('× postgres.js', () => describeCases(createDatabase, openPostgresJs))
  describe('× drizzle over postgres.js', () => describeCases(createDatabase, openDrizzlePostgresJs))
  describe('× sequelize', () => describeCases(createDatabase, openSequelizeSubject))
  describe('× typeorm', () => describeCases(createDatabase, openTypeorm))
  describe('× neon', () => describeCases(createDatabase, openNeon))
  describe('× drizzle over neon', () => describeCases(createDatabase, openDrizzleNeon))
})

/** One driver on one server: what a host does with it, against the tables of both. */
interface Cell<Tx> {
  readonly subject: DriverSubject<Tx>
  readonly engine: Engine<Tx>
  enqueue(request: EnqueueRequest): Promise<EnqueuedTransfer>
  count(from: string): Promise<number>
  /** Rows of the host, transfers, events and jobs. */
  counts(): Promise<readonly number[]>
  close(): Promise<void>
}

type Open<Tx> = (url: string) => DriverSubject<Tx> | Promise<DriverSubject<Tx>>

async function openCell<Tx>(url: string, open: Open<Tx>): Promise<Cell<Tx>> {
  const admin = new pg.Pool({ connectionString: url, max: 1 })
  await admin.query(noteTableSql)
  const subject = await open(url)
  const engine = createEngine({ backend: subject.backend, gateway: memoryGateway() })
  engine.subscribe('notes', ['transfer.completed'], async (event, tx) => {
    await subject.insertNote(tx, `seen-${event.transferId}`, 'complete')
  })
  const count = async (from: string) =>
    (await admin.query<{ n: number }>(`select count(*)::integer as n from ${from}`)).rows[0]?.n ?? -1
  return {
    subject,
    engine,
    enqueue: (request) => subject.transaction((tx) => engine.transfers.enqueue(tx, request)),
    count,
    counts: () => Promise.all(['note', 'outlay.transfer', outboxTable].map(count)),
    async close() {
      await engine.stop()
      await subject.close()
      await admin.end()
    },
  }
}

function describeCases<Tx>(createDatabase: () => Promise<string>, open: Open<Tx>): void {
  let cell: Cell<Tx>
  beforeAll(async () => {
    cell = await openCell(await createDatabase(), open)
  })
  afterAll(() => cell.close())

  it('enqueue: commits with a row of the host', () => enqueueCommits(cell))
  it('rollback: leaves nothing', () => rollbackLeavesNothing(cell))
  it('conflict: one key is one transfer, and a mismatch leaves the transaction usable', () => oneKeyIsOneTransfer(cell))
  it('enqueueMany: writes all in order, and what it has already once', () => manyAreWrittenInOrder(cell))
  it('handler with transaction: its writes commit with the acknowledgement', () => handlerWrites(cell))
}

async function enqueueCommits<Tx>({ subject, engine, counts }: Cell<Tx>): Promise<void> {
  const before = await counts()
  const { id } = await subject.transaction(async (tx) => {
    const transfer = await engine.transfers.enqueue(tx, samplePayout('enqueue'))
    await subject.insertNote(tx, transfer.id, 'sent')
    return transfer
  })
  expect(await counts()).toEqual(before.map((n) => n + 1))
  expect(await engine.transfers.get(id)).toMatchObject({ stage: 'queued', request: { amount: { value: '12.50' } } })
}

async function rollbackLeavesNothing<Tx>({ subject, engine, counts }: Cell<Tx>): Promise<void> {
  const before = await counts()
  const rolledBack = subject.transaction(async (tx) => {
    await subject.insertNote(tx, 'rollback', 'gone')
    await engine.transfers.enqueue(tx, samplePayout('rollback'))
    throw new Error('changed my mind')
  })
  await expect(rolledBack).rejects.toThrow('changed my mind')
  expect(await counts()).toEqual(before)
}

async function oneKeyIsOneTransfer<Tx>({ subject, engine, enqueue, count }: Cell<Tx>): Promise<void> {
  const request = samplePayout('conflict', { idempotencyKey: 'once' })
  const first = await enqueue(request)
  expect(await enqueue(request)).toEqual({ ...first, reused: true })
  await subject.transaction(async (tx) => {
    const other = { ...request, amount: { value: '3.00', currency: 'USD' } }
    const refusal: unknown = await engine.transfers.enqueue(tx, other).catch((error: unknown) => error)
    expect(OutlayError.is(refusal, 'idempotency_key_mismatch')).toBe(true)
    await subject.insertNote(tx, 'conflict', 'still writes')
  })
  expect(await count(`outlay.transfer where account_id = 'conflict'`)).toBe(1)
  expect(await count(`note where id = 'conflict'`)).toBe(1)
}

async function manyAreWrittenInOrder<Tx>({ subject, engine, enqueue, count }: Cell<Tx>): Promise<void> {
  const known = samplePayout('many', { idempotencyKey: 'b' })
  const requests = [samplePayout('many', { idempotencyKey: 'a' }), known, samplePayout('many', { idempotencyKey: 'c' })]
  const { id } = await enqueue(known)
  const written = await subject.transaction((tx) => engine.transfers.enqueueMany(tx, requests))
  expect(written.map(({ idempotencyKey, reused }) => [idempotencyKey, reused])).toEqual([
    ['a', false],
    ['b', true],
    ['c', false],
  ])
  expect(written[1]?.id).toBe(id)
  expect(await count(`outlay.transfer where account_id = 'many'`)).toBe(3)
}

async function handlerWrites<Tx>({ engine, enqueue, count }: Cell<Tx>): Promise<void> {
  await engine.start()
  const { id } = await enqueue(samplePayout('handler'))
  const backlog = await drain(engine)
  expect(backlog).toMatchObject({ undelivered: 0, deadLetters: 0 })
  expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'complete' })
  expect(await count(`note where id = 'seen-${id}'`)).toBe(1)
  expect(await count(`note where id like 'seen-%'`)).toBe(backlog.settled)
}
