import { noTransaction } from '../../database/open-transaction.ts'

/** A query of postgres.js, which is sent when somebody first waits for it. */
export interface LazyQuery extends Promise<unknown> {
  /** Sends the query. */
  handler: (query: LazyQuery) => void
  strings: readonly string[]
  /** Takes the rows of a cursor; what it gives is awaited before more are fetched. */
  cursorFn?: (rows: unknown) => unknown
  reject(reason: unknown): void
}

/** The end of one transaction. postgres.js itself does not say whether a transaction has ended. */
export interface TransactionEnd {
  /** True from the moment on at which nothing more may be sent in the transaction. */
  readonly isOver: boolean
  /** Rejects when the transaction was lost with its connection; never settles otherwise. */
  readonly loss: Promise<never>
  /** Refuses a query in the way in which a query fails, and never as a rejection that nobody handles. */
  refuse(query: LazyQuery): void
  /** Remembers a query that is to be sent: postgres.js forgets those that a transaction has not sent at its end. */
  hold(query: LazyQuery): void
  /** From now on nothing more may be sent. */
  begin(): void
  /** The transaction has ended, or was lost for this reason. */
  complete(loss?: Error): void
}

/** Makes the end of a transaction that begins now. */
export function openEnd(): TransactionEnd {
  const held = new Set<LazyQuery>()
  const { promise: loss, reject: lose } = Promise.withResolvers<never>()
  loss.catch(() => undefined)
  let isOver = false
  const fail = (query: LazyQuery, reason: unknown) => {
    query.catch(() => undefined)
    query.reject(reason)
  }
  const ended = () => noTransaction('is a transaction of postgres.js that has ended')
  return {
    get isOver() {
      return isOver
    },
    loss,
    refuse: (query) => fail(query, ended()),
    hold(query) {
      held.add(query)
      const forget = () => void held.delete(query)
      query.then(forget, forget)
    },
    begin() {
      isOver = true
    },
    complete(reason) {
      isOver = true
      const unsent = [...held]
      held.clear()
      for (const query of unsent) fail(query, reason ?? ended())
      if (reason !== undefined) lose(reason)
    },
  }
}

const ends = new WeakMap<object, TransactionEnd>()

/** The end of a transaction that a watched instance, or the driver itself, has begun. */
export const endOf = (tx: object): TransactionEnd | undefined => ends.get(tx)

/** Remembers the end of a transaction by its handle. */
export const rememberEnd = (tx: object, end: TransactionEnd): void => void ends.set(tx, end)
