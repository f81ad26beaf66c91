import { readFile } from 'node:fs'
import type { TransactionSql } from 'postgres'
import { noTransaction } from '../../database/open-transaction.ts'
import { type LazyQuery, rememberEnd, type TransactionEnd } from './transaction-end.ts'

type Call = (...given: unknown[]) => unknown

/** Never settles. */
const never = (): Promise<never> => new Promise(() => {})

/** Waits for what a function in a transaction gave, as postgres.js does: for the members of an array, too. */
const settle = (given: unknown): unknown => (Array.isArray(given) ? Promise.all(given) : given)

/**
 * Runs `work` in a transaction that `begin` opens, and that is guarded. A write on a lost connection ends the process, the `rollback` of
 * postgres.js included, so it gets no end of such a work: it knows of the loss by itself.
 */
export async function runGuarded(
  begin: (run: (tx: TransactionSql) => Promise<unknown>) => Promise<unknown>,
  work: (tx: TransactionSql) => unknown,
  end: TransactionEnd,
): Promise<unknown> {
  try {
    return await begin(async (tx) => {
      try {
        return await settle(work(guard(tx, end)))
      } finally {
        if (end.isOver) await never()
        // Another transaction may come to its connection at any time.
        end.begin()
      }
    })
  } catch (error) {
    end.complete(error as Error)
    throw error
  } finally {
    end.complete()
  }
}

/**
 * A transaction that refuses its queries when it is over. Queries of postgres.js are lazy, so one that was made in time may be sent too
 * late: each is asked when it is to be sent. On a lost connection it would end the process.
 */
function guard(tx: TransactionSql, end: TransactionEnd): TransactionSql {
  const watch = (made: unknown) => (made instanceof Promise ? watchQuery(made as LazyQuery, end) : made)
  const members = new Map<PropertyKey, Call>([
    ['unsafe', (...given) => watch((tx.unsafe as Call)(...given))],
    ['file', (path, ...given) => watchFile(tx, end, String(path), (tx.file as Call)(path, ...given) as LazyQuery)],
    // postgres.js itself would send it outside of the transaction.
    ['notify', (channel, payload) => guarded`select pg_notify(${String(channel)}, ${String(payload)})`],
    ['savepoint', (...given) => runSavepoint(tx, end, given)],
  ])
  const guarded = new Proxy(tx, {
    apply: (target, self, given) => watch(Reflect.apply(target as unknown as Call, self, given)),
    get: (target, member) => members.get(member) ?? Reflect.get(target, member),
  })
  rememberEnd(guarded, end)
  return guarded
}

function watchQuery(query: LazyQuery, end: TransactionEnd): LazyQuery {
  const send = query.handler
  query.handler = (sent) => {
    if (end.isOver) return end.refuse(sent)
    end.hold(sent)
    guardCursor(sent, end)
    noteLoss(sent, end)
    send(sent)
  }
  return query
}

/** A query that fails with its connection ends the transaction at once, before anybody can react with another query. */
function noteLoss(query: LazyQuery, end: TransactionEnd): void {
  const { reject } = query
  query.reject = (reason) => {
    const { code, errno } = (reason ?? {}) as { readonly code?: unknown; readonly errno?: unknown }
    if (code === 'CONNECTION_CLOSED' || typeof errno === 'number') end.complete(reason as Error)
    reject(reason)
  }
}

/** Fetches no more rows for a cursor on a lost connection, which would end the process too. */
function guardCursor(query: LazyQuery, end: TransactionEnd): void {
  const take = query.cursorFn
  if (take === undefined) return
  query.cursorFn = async (rows) => {
    const taken = await take(rows)
    return end.isOver ? never() : taken
  }
}

/** Watches a query from a file. postgres.js would ask nobody when it has read the file. */
function watchFile(tx: TransactionSql, end: TransactionEnd, path: string, query: LazyQuery): LazyQuery {
  const { handler: send } = watchQuery(tx.unsafe('') as unknown as LazyQuery, end)
  query.handler = (read) =>
    readFile(path, 'utf8', (error, text) => {
      if (error !== null) return read.reject(error)
      read.strings = [text]
      send(read)
    })
  return query
}

/** Runs a savepoint, which fails at once when the connection is lost. */
function runSavepoint(tx: TransactionSql, end: TransactionEnd, given: readonly unknown[]): Promise<unknown> {
  const work = given.at(-1) as (inner: TransactionSql) => unknown
  const run = async (inner: TransactionSql) => {
    try {
      return await settle(work(guard(inner, end)))
    } finally {
      // As at the end of a transaction, postgres.js would send a `rollback to`.
      if (end.isOver) await never()
    }
  }
  const ran = end.isOver
    ? Promise.reject(noTransaction('is a transaction of postgres.js that has ended'))
    : Promise.race([(tx.savepoint as (...values: unknown[]) => Promise<unknown>)(...given.slice(0, -1), run), end.loss])
  ran.catch(() => undefined)
  return ran
}
