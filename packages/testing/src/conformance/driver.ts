import { type Backend, createEngine, type Engine, type EnqueueRequest, OutlayError } from '@outlay/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withAdmin } from '../database.ts'
import { drain, waitUntil } from '../harness.ts'
import { memoryGateway } from '../memory-gateway.ts'
import { testDatabase } from '../vitest.ts'
import { describeControl } from './driver-control.ts'
import { describeHandlerLimits } from './driver-limits.ts'
import { describeLists } from './driver-lists.ts'
import { describeRequests } from './driver-requests.ts'
import { describeReturns } from './driver-returns.ts'
import { noteTableSql } from './note-table.ts'
import { outboxTable } from './queue.ts'

/** A database library with the driver under test, on one database. */
export interface DriverSubject<Tx> {
  /** A backend on the driver, with its default schema. */
  readonly backend: Backend<Tx>
  /** Runs `work` in a transaction as a user of the library does. Up to 20 at once. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Runs `work` in a savepoint of `tx`; absent when the library has none. */
  nested?<T>(tx: Tx, work: (inner: Tx) => Promise<T>): Promise<T>
  /** Inserts a row into `note (id text primary key, body text)`, with the library's own means. */
  insertNote(tx: Tx, id: string, body: string): Promise<unknown>
  /** Closes every connection. */
  close(): Promise<unknown>
}

/** Characters that are syntax in some library, and that must have no meaning in a value. */
const oddText = `it's "quoted" \\ \\' back? ?? $1 $2 :name ::text @p1 %s {a,"b"} NULL -- /* 💸 ñ \u{202e}\ttab\nline`
/** The same, within the characters of idempotency keys and account ids. */
const oddKey = `it's"1"\\?$1:x,{NULL}::text--`

/** The database and the subject that all parts of the suite share. */
interface Bench<Tx> {
  readonly url: string
  readonly subject: DriverSubject<Tx>
  readonly engine: Engine<Tx>
  count(table: string): Promise<number>
}

/**
 * The suite that every driver passes: vitest tests of what a host requires. Call it at the top level of a test
 * file; `open` gets the connection string of an empty database, which the driver migrates.
 *
 * @example
 * describeDriver('kysely', (url) => {
 *   const pool = new pg.Pool({ connectionString: url, max: 30 })
 *   const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
 *   return {
 *     backend: postgres({ driver: kyselyDriver({ db, pool }) }),
 *     transaction: (work) => db.transaction().execute(work),
 *     insertNote: (tx, id, body) => tx.insertInto('note').values({ id, body }).execute(),
 *     close: () => db.destroy(),
 *   }
 * })
 */
export function describeDriver<Tx>(
  name: string,
  open: (url: string) => DriverSubject<Tx> | Promise<DriverSubject<Tx>>,
): void {
  describe(`the driver ${name}`, async () => {
    const { url } = await testDatabase()
    const subject = await open(url)
    const engine = createEngine({ backend: subject.backend, gateway: memoryGateway() })
    const count = (table: string) =>
      withAdmin(url, async (admin) => (await admin.query(`select count(*)::integer as n from ${table}`)).rows[0]?.n)
    const bench = { url, subject, engine, count }
    beforeAll(async () => {
      await Promise.all([engine.migrate(), engine.migrate()])
      await withAdmin(url, (admin) => admin.query(noteTableSql))
    })
    afterAll(async () => {
      await engine.stop()
      await subject.close()
    })

    it('migrates an empty database, from two processes at once and again without effect', async () => {
      await engine.migrate()
      await expect(subject.backend.check()).resolves.toBeUndefined()
    })
    describeCommit(bench)
    describeKeys(bench)
    describeValues(bench)
    describeRequests(subject, engine, payout, url)
    describeCommands(bench)
    describeControl({ ...bench, payout: (request) => payout('control', request), text: oddText })
    describeWork(bench)
    describeHandlerLimits(subject, payout, count, () => clear(bench.url))
    describeLists(subject, payout, count)
    describeReturns(subject, payout, () => clear(bench.url))
    describeListening(bench)
  })
}

/** Payouts commit or roll back with the host's transaction. */
function describeCommit<Tx>({ subject, engine, count }: Bench<Tx>): void {
  const tables = ['note', 'outlay.transfer', outboxTable]
  const counts = () => Promise.all(tables.map(count))

  it('commits a payout together with rows of the host', async () => {
    const before = await counts()
    const transfer = await subject.transaction(async (tx) => {
      const enqueued = await engine.transfers.enqueue(tx, payout('commit'))
      await subject.insertNote(tx, enqueued.id, 'sent')
      return enqueued
    })
    expect(await engine.transfers.get(transfer.id)).toMatchObject({ id: transfer.id, stage: 'queued', attempt: 0 })
    expect(await counts()).toEqual(before.map((number) => number + 1))
  })

  it('leaves no rows after a rollback, of one or of many', async () => {
    const before = await counts()
    const failure = new Error('changed my mind')
    const rolledBack = subject.transaction(async (tx) => {
      await subject.insertNote(tx, 'rollback', 'gone')
      await engine.transfers.enqueue(tx, payout('rollback'))
      await engine.transfers.enqueueMany(tx, [payout('rollback'), payout('rollback')])
      throw failure
    })
    await expect(rolledBack).rejects.toThrow(failure.message)
    expect(await counts()).toEqual(before)
  })

  it('writes 5,000 at once, in order', async () => {
    const requests = Array.from({ length: 5_000 }, (_, index) => payout('many', { idempotencyKey: `many-${index}` }))
    const before = await count(outboxTable)
    const written = await subject.transaction((tx) => engine.transfers.enqueueMany(tx, requests))
    expect(written.map((transfer) => transfer.idempotencyKey)).toEqual(requests.map((one) => one.idempotencyKey))
    expect(await count(outboxTable)).toBe(before + 5_000)
    const last = await engine.transfers.getByKey('many', 'many-4999')
    expect(last).toMatchObject({ id: written.at(-1)?.id, request: written.at(-1)?.request })
    const fresh = Array.from({ length: 2_500 }, (_, index) => payout('many', { idempotencyKey: `fresh-${index}` }))
    const other = payout('many', { idempotencyKey: 'many-7', amount: { value: '3.00', currency: 'USD' } })
    await subject.transaction(async (tx) => {
      const refused = await engine.transfers.enqueueMany(tx, [...fresh, other]).catch((error: unknown) => error)
      expect(refused).toMatchObject({ code: 'idempotency_key_mismatch', field: '2500.idempotencyKey' })
      await subject.insertNote(tx, 'many', 'still writes')
    })
    expect(await count(outboxTable)).toBe(before + 5_000)
    expect(await count(`note where id = 'many'`)).toBe(1)
  })

  it.runIf(subject.nested !== undefined)('rolls back with a savepoint, and leaves the rest to commit', async () => {
    await subject.transaction(async (tx) => {
      const inner = subject.nested?.(tx, async (savepoint) => {
        await engine.transfers.enqueue(savepoint, payout('nested', { idempotencyKey: 'inner' }))
        throw new Error('only the inner one')
      })
      await expect(inner).rejects.toThrow('only the inner one')
      await subject.nested?.(tx, (savepoint) =>
        engine.transfers.enqueue(savepoint, payout('nested', { idempotencyKey: 'kept' })),
      )
      await engine.transfers.enqueue(tx, payout('nested', { idempotencyKey: 'outer' }))
    })
    expect(await engine.transfers.getByKey('nested', 'inner')).toBeUndefined()
    expect(await engine.transfers.getByKey('nested', 'kept')).toBeDefined()
    expect(await engine.transfers.getByKey('nested', 'outer')).toBeDefined()
  })
}

/** One key is one transfer. */
function describeKeys<Tx>({ subject, engine, count }: Bench<Tx>): void {
  it('returns the stored transfer for the same key and request, alone and among others', async () => {
    const request = payout('reuse', { idempotencyKey: 'k', note: oddText })
    const first = await subject.transaction((tx) => engine.transfers.enqueue(tx, request))
    const again = await subject.transaction((tx) => engine.transfers.enqueue(tx, request))
    expect(again).toEqual({ ...first, reused: true })
    const both = await subject.transaction((tx) => engine.transfers.enqueueMany(tx, [payout('reuse'), request]))
    expect(both.map((transfer) => transfer.reused)).toEqual([false, true])
    expect(both[1]).toEqual({ ...first, reused: true })
  })

  it('leaves the transaction usable after a mismatch, of one or among many', async () => {
    const first = payout('mismatch', { idempotencyKey: 'used' })
    const other = { ...first, amount: { value: '3.00', currency: 'USD' } }
    await subject.transaction((tx) => engine.transfers.enqueue(tx, first))
    const after = await subject.transaction(async (tx) => {
      const one = await engine.transfers.enqueue(tx, other).catch((error: unknown) => error)
      expect(OutlayError.is(one, 'idempotency_key_mismatch')).toBe(true)
      const many = engine.transfers.enqueueMany(tx, [payout('mismatch', { idempotencyKey: 'lost' }), other])
      expect(await many.catch((error: unknown) => error)).toMatchObject({
        code: 'idempotency_key_mismatch',
        field: '1.idempotencyKey',
      })
      await subject.insertNote(tx, 'mismatch', 'still writes')
      return engine.transfers.enqueue(tx, payout('mismatch'))
    })
    expect(await engine.transfers.get(after.id)).toBeDefined()
    expect(await engine.transfers.getByKey('mismatch', 'lost')).toBeUndefined()
    expect(await count(`note where id = 'mismatch'`)).toBe(1)
  })

  it('agrees on one transfer among 20 concurrent transactions with one key', async () => {
    const request = payout('race', { idempotencyKey: 'one' })
    const agreed = await Promise.all(
      Array.from({ length: 20 }, () => subject.transaction((tx) => engine.transfers.enqueue(tx, request))),
    )
    expect(new Set(agreed.map((transfer) => transfer.id)).size).toBe(1)
    expect(agreed.filter((transfer) => !transfer.reused)).toHaveLength(1)
    expect(await count(`outlay.transfer where account_id = 'race'`)).toBe(1)
  })
}

/** Values are stored unchanged. */
function describeValues<Tx>({ subject, engine }: Bench<Tx>): void {
  it('treats characters of every syntax as plain text', async () => {
    const request = payout(oddKey, { idempotencyKey: oddKey, note: oddText })
    const one = await subject.transaction((tx) => engine.transfers.enqueue(tx, request))
    expect(await engine.transfers.getByKey(oddKey, oddKey)).toMatchObject({ id: one.id, request: { note: oddText } })
    const keys = ['{}', 'null', '"', '\\', `'`, ',', `${oddKey}2`]
    const many = await subject.transaction((tx) =>
      engine.transfers.enqueueMany(
        tx,
        keys.map((idempotencyKey) => payout(oddKey, { idempotencyKey, note: oddText })),
      ),
    )
    const stored = await Promise.all(keys.map((key) => engine.transfers.getByKey(oddKey, key)))
    expect(stored.map((transfer) => transfer?.id)).toEqual(many.map((transfer) => transfer.id))
    expect(stored.map((transfer) => transfer?.request.note)).toEqual(keys.map(() => oddText))
  })

  it('reads rows inside a transaction as it reads them outside', async () => {
    const { id, reused } = await subject.transaction((tx) => engine.transfers.enqueue(tx, payout('rows')))
    const outside = await engine.transfers.get(id)
    const inside = await subject.transaction((tx) =>
      engine.transfers.enqueue(tx, payout('rows', { idempotencyKey: outside?.idempotencyKey })),
    )
    expect(inside).toEqual({ ...outside, reused: !reused })
  })

  it('accepts times and their absence, alone and among others', async () => {
    const times = { notBefore: '2031-02-03T04:05:06.789Z', expiresAt: new Date('2032-02-03T04:05:06.789Z') }
    const requests = [payout('times', times), payout('times'), payout('times', { notBefore: times.notBefore })]
    const written = await subject.transaction(async (tx) => [
      await engine.transfers.enqueue(tx, payout('times', times)),
      ...(await engine.transfers.enqueueMany(tx, requests)),
    ])
    const stored = await Promise.all(written.map((transfer) => engine.transfers.get(transfer.id)))
    const moment = (iso: string | null | undefined) => (typeof iso === 'string' ? Date.parse(iso) : iso)
    const both = [Date.parse(times.notBefore), times.expiresAt.getTime()]
    expect(stored.map((transfer) => [moment(transfer?.notBefore), moment(transfer?.expiresAt)])).toEqual([
      both,
      both,
      [null, null],
      [both[0], null],
    ])
  })
}

/** Commands of an operator write rows in the transaction of the host. */
function describeCommands<Tx>({ subject, engine }: Bench<Tx>): void {
  it('cancels and resubmits, pauses and resumes, in the transaction of the host', async () => {
    const { id } = await subject.transaction((tx) => engine.transfers.enqueue(tx, payout('commands')))
    await subject.transaction(async (tx) => {
      await engine.transfers.cancel(tx, id)
      expect(await engine.accounts.pause(tx, 'commands')).toBe(true)
      expect(await engine.accounts.resume(tx, 'commands')).toBe(true)
    })
    const again = await subject.transaction((tx) => engine.transfers.resubmit(tx, id))
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'canceled' })
    expect(await engine.transfers.get(again.id)).toMatchObject({ stage: 'queued', status: 'pending' })
  })

  it('leaves the transaction usable after a refused command', async () => {
    const { id } = await subject.transaction((tx) => engine.transfers.enqueue(tx, payout('refused')))
    await subject.transaction(async (tx) => {
      await engine.transfers.cancel(tx, id)
      const twice = await engine.transfers.cancel(tx, id).catch((error: unknown) => error)
      expect(OutlayError.is(twice, 'transfer_not_cancelable')).toBe(true)
      await subject.insertNote(tx, 'refused', 'still writes')
    })
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'canceled' })
  })
}

/** Workers run on the driver, and handlers of subscriptions in the library's own transactions. */
function describeWork<Tx>(bench: Bench<Tx>): void {
  const { url, subject, count } = bench
  it('commits what a handler writes with the acknowledgement, and rolls it back with a failure', async () => {
    await clear(url)
    await using engine = createEngine({ backend: subject.backend, gateway: memoryGateway() })
    const failed = new Set<string>()
    engine.subscribe('notes', ['transfer.completed'], async (event, tx) => {
      // If the first insert were not rolled back, the second would violate its key.
      await subject.insertNote(tx, event.transferId, oddText)
      if (failed.has(event.transferId)) return
      failed.add(event.transferId)
      throw new Error(oddText)
    })
    await engine.start()
    const transfers = await enqueue(bench, engine, 'subscription', 20)
    const backlog = await drain(engine)
    expect(backlog).toMatchObject({ settled: 20, undelivered: 0, deadLetters: 0 })
    expect(failed).toEqual(new Set(transfers.map((transfer) => transfer.id)))
    expect(await count('note')).toBe(20)
  })

  it('retries transfers that waited for funds or for a person, in the transaction of the host', async () => {
    await clear(url)
    const gateway = memoryGateway()
    gateway.script(({ accountId, attempt }) => {
      if (attempt > 1) return undefined
      const detail = 'not yet'
      return accountId === 'poor' ? { outcome: 'insufficient_balance', detail } : { outcome: 'key_mismatch', detail }
    })
    // The longest pauses: nothing is tried again before its funds have arrived.
    const random = { ...subject.backend.runtime.random, fraction: () => 0.99 }
    await using engine = createEngine({ backend: subject.backend, gateway, runtime: { random } })
    await engine.start()
    await enqueue(bench, engine, 'poor', 2)
    const [held] = await enqueue(bench, engine, 'held', 1)
    await drain(engine, { until: (backlog) => backlog.awaitingFunds === 2 && backlog.blocked === 1 })
    expect(await subject.transaction((tx) => engine.accounts.fundsArrived(tx, 'poor'))).toBe(2)
    expect(await subject.transaction((tx) => engine.transfers.release(tx, held?.id ?? ''))).toBe(true)
    expect(await drain(engine, { awaitingFunds: true, blocked: true })).toMatchObject({ settled: 3 })
  })

  it('resumes a paused account, and applies an observation, in the transaction of the host', async () => {
    await clear(url)
    const gateway = memoryGateway({ status: 'processing' })
    const polling = { maxDelayMs: 3_600_000 }
    await using engine = createEngine({ backend: subject.backend, gateway, polling })
    await subject.transaction((tx) => engine.accounts.pause(tx, 'paused'))
    await engine.start()
    const [transfer] = await enqueue(bench, engine, 'paused', 2)
    const id = transfer?.id ?? ''
    await waitUntil(async () => (await engine.transfers.get(id))?.reason === 'account_paused')
    expect(gateway.submissions).toHaveLength(0)
    expect(await subject.transaction((tx) => engine.accounts.resume(tx, 'paused'))).toBe(true)
    await drain(engine, { until: (backlog) => backlog.submitted === 2 })
    const remoteId = (await engine.transfers.get(id))?.remoteId ?? ''
    const seen = [{ remoteId, status: 'complete' as const, failure: null }]
    expect(await subject.transaction((tx) => engine.transfers.observe(tx, 'paused', seen))).toBe(1)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'complete' })
  })
}

/** The driver recovers from the loss of the listening connection. */
function describeListening<Tx>(bench: Bench<Tx>): void {
  const { url, subject } = bench

  it('wakes at a notification, also after its listening connection was lost', async () => {
    await clear(url)
    await using engine = createEngine({ backend: subject.backend, gateway: memoryGateway() })
    const listeners = () => listenersOf(url)
    // Without notifications, the engine would find nothing within the duration of the test.
    await engine.start({ pollIntervalMs: 600_000 })
    const [first] = await waitUntil(async () => ((await listeners()).length === 1 ? listeners() : undefined))
    await enqueue(bench, engine, 'before', 3)
    expect(await drain(engine)).toMatchObject({ settled: 3 })
    await withAdmin(url, (admin) => admin.query('select pg_terminate_backend($1)', [first]))
    await waitUntil(async () => {
      const [next] = await listeners()
      return next !== undefined && next !== first
    })
    for (const settled of [4, 5]) {
      await enqueue(bench, engine, 'after', 1)
      expect(await drain(engine)).toMatchObject({ settled })
    }
    expect(await listeners()).toHaveLength(1)
    await engine.stop()
    await waitUntil(async () => (await listeners()).length === 0)
  })
}

async function enqueue<Tx>({ subject }: Bench<Tx>, engine: Engine<Tx>, accountId: string, length: number) {
  const requests = Array.from({ length }, () => payout(accountId))
  return subject.transaction((tx) => engine.transfers.enqueueMany(tx, requests))
}

/** Process ids of the connections whose last statement was to listen. */
async function listenersOf(url: string): Promise<readonly number[]> {
  return withAdmin(url, async (admin) => {
    const found = await admin.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and query ilike 'listen %'`,
    )
    return found.rows.map((row) => row.pid)
  })
}

/** Empties the tables, also of what was found elsewhere: it would be adopted in the middle of the next test. */
async function clear(url: string): Promise<void> {
  const ours = 'transfer event attempt delivery subscription found_transfer watched_account list_reading'.split(' ')
  const tables = ['note', ...ours.map((table) => `outlay.${table}`), outboxTable]
  await withAdmin(url, (admin) => admin.query(`truncate ${tables.join(', ')}`))
}

function payout(accountId: string, overrides: Partial<EnqueueRequest> = {}): EnqueueRequest {
  return {
    accountId,
    amount: { value: '12.50', currency: 'USD' },
    source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
    ...overrides,
  }
}
