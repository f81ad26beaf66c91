import type { Client, PoolClient } from 'pg'
import type { Contender } from './contest.ts'
import { type Database, inTransaction } from './database.ts'
import { type Measurement, measure, usageHere } from './measurement.ts'

/** A host application that writes a row of its own and a transfer in one transaction. */
export interface EnqueueHost {
  readonly name: string
  readonly database: Database
  /** One host transaction for the n-th invoice. With `rollBack` it is rolled back at the end, by throwing {@link givenUp}. */
  transact(n: number, rollBack: boolean): Promise<void>
  /** The number of host rows with exactly what a worker needs to send their transfer. */
  countComplete(): Promise<number>
  /** For each kind of row besides the host's: the number of transfers that its rows belong to. */
  readonly countRest: () => Promise<readonly number[]>
  close(): Promise<void>
}

/** Thrown to roll a host transaction back. */
export const givenUp = new Error('The host rolls this transaction back.')

/** Creates the host's own table. */
export async function createHostTable(admin: Pick<Client, 'query'>): Promise<void> {
  await admin.query(`create table invoice (
    id bigint primary key, customer text not null, amount numeric(20, 6) not null, currency text not null,
    memo text, created_at timestamptz not null default now()
  )`)
}

/** The host's own insert, as a named statement. */
export function insertInvoice(n: number) {
  return {
    name: 'insert_invoice',
    text: 'insert into invoice (id, customer, amount, currency, memo) values ($1, $2, $3, $4, $5)',
    values: [n, `customer-${n % 1000}`, `${100 + (n % 900)}.25`, 'USD', `Invoice ${n}`],
  }
}

/** What a host does in its transaction, through its library. */
interface HostStatements<Tx> {
  transaction(work: (tx: Tx) => Promise<void>): Promise<void>
  insertInvoice(tx: Tx, n: number): Promise<unknown>
}

/** A host's transaction: `enqueue` runs between its insert and its commit. */
export const hostTransact =
  <Tx>(host: HostStatements<Tx>, enqueue: (tx: Tx, n: number) => Promise<unknown>): EnqueueHost['transact'] =>
  (n, rollBack) =>
    host.transaction(async (tx) => {
      await host.insertInvoice(tx, n)
      await enqueue(tx, n)
      if (rollBack) throw givenUp
    })

/** The transaction of a host without a library. */
export const pgTransact = (
  database: Database,
  enqueue: (client: PoolClient, n: number) => Promise<unknown>,
): EnqueueHost['transact'] =>
  hostTransact(
    {
      transaction: (work) => inTransaction(database.pool, work),
      insertInvoice: (client: PoolClient, n) => client.query(insertInvoice(n)),
    },
    enqueue,
  )

/** Makes a contender of a host with so many clients at once. `observe` runs the measurement and may add figures to it. */
export function enqueueContender(
  host: EnqueueHost,
  clients: number,
  numbers: { next: number },
  observe: (measured: () => Promise<Measurement>) => Promise<Measurement> = (measured) => measured(),
): Contender {
  return {
    name: host.name,
    async round(seconds) {
      const { database } = host
      await proveRollback(host, numbers)
      const invoicesBefore = await database.count('select count(*) from invoice')
      const work = async () => {
        const endsAt = performance.now() + seconds * 1000
        const latenciesMs: number[] = []
        const client = async () => {
          for (let from = performance.now(); from < endsAt; ) {
            await host.transact(numbers.next++, false)
            const now = performance.now()
            latenciesMs.push(now - from)
            from = now
          }
        }
        await Promise.all(Array.from({ length: clients }, client))
        return { operations: latenciesMs.length, latenciesMs }
      }
      const measurement = await observe(() => measure(database.admin, usageHere(database.statements), work))
      const invoices = await database.count('select count(*) from invoice')
      if (invoices - invoicesBefore !== measurement.operations) {
        throw new Error(`${host.name}: ${measurement.operations} commits left ${invoices - invoicesBefore} host rows.`)
      }
      await proveComplete(host, invoices)
      return measurement
    },
  }
}

async function proveRollback(host: EnqueueHost, numbers: { next: number }): Promise<void> {
  const before = await host.countRest()
  await host.transact(numbers.next++, true).catch((error: unknown) => {
    if (error !== givenUp) throw error
  })
  const after = await host.countRest()
  if (String(after) !== String(before)) {
    throw new Error(`${host.name}: a transaction that was rolled back left rows: ${before} before, ${after} after.`)
  }
}

async function proveComplete(host: EnqueueHost, invoices: number): Promise<void> {
  const complete = await host.countComplete()
  const rest = await host.countRest()
  if (complete !== invoices || rest.some((count) => count !== invoices)) {
    throw new Error(`${host.name}: of ${invoices} host rows ${complete} have their transfer; other rows: ${rest}.`)
  }
}
