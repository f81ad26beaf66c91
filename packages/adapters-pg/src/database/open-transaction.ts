import { OutlayError } from '@outlay/core'
import { Query, type QueryConfig, type QueryResult } from 'pg'
import { hasSqlState } from './lock-timeout.ts'

/** A refusal of a write that would commit by itself, apart from the rows of the host. */
export function noTransaction(why: string): OutlayError {
  const message = `tx ${why}, so this would be committed apart from your own rows; pass the transaction that your library gives, or a client on which "begin" has run`
  return new OutlayError('no_transaction', message, { field: 'tx' })
}

/** What a driver uses of a client of node-postgres. */
export interface QueryClient {
  query(query: string | QueryConfig | Query): Promise<QueryResult>
}

interface StatusClient extends QueryClient {
  getTransactionStatus(): unknown
}

/**
 * Runs a statement of the engine on a client of node-postgres, in the transaction that is open on it, or not at all.
 *
 * @throws OutlayError `no_transaction`
 */
export async function queryInTransaction(client: QueryClient, config: QueryConfig): Promise<QueryResult> {
  if (typeof (client as Partial<QueryClient> | null | undefined)?.query !== 'function') {
    throw noTransaction('is no client of node-postgres')
  }
  if (sendsInTurn(client)) return queryInTurn(client, config)
  if (!isInTransaction(client)) await probeTransaction((probe) => client.query(probe))
  return client.query(config)
}

/**
 * Sends a statement when its turn on the client has come, or refuses it then: a `rollback` that the host has sent may be ahead of
 * it, and Postgres would commit by itself what comes next. Each answer of Postgres says whether a transaction is open.
 */
function queryInTurn(client: StatusClient, config: QueryConfig): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    const query = new Query(config, (error, result) => (error ? reject(error) : resolve(result)))
    const submit = query.submit.bind(query)
    // node-postgres fails a query with the error that this returns.
    query.submit = (connection) =>
      isInTransaction(client) ? submit(connection) : noTransaction('is not in a transaction')
    // It gives no promise, unless the host has put a client of its own before that of node-postgres.
    Promise.resolve(client.query(query)).catch(reject)
  })
}

/** True for a client that knows its status and sends a query only after the answer to the one before. */
function sendsInTurn(client: unknown): client is StatusClient {
  const { getTransactionStatus, native, pipeline } = (client ?? {}) as Readonly<Record<string, unknown>>
  return typeof getTransactionStatus === 'function' && native === undefined && pipeline !== true
}

/** True when a client of node-postgres knows that a transaction was open on it at the last answer of Postgres. */
function isInTransaction(client: unknown): boolean {
  const { getTransactionStatus } = (client ?? {}) as { readonly getTransactionStatus?: unknown }
  if (typeof getTransactionStatus !== 'function') return false
  const status: unknown = getTransactionStatus.call(client)
  // In a failed transaction, Postgres refuses whatever comes next.
  return status === 'T' || status === 'E'
}

/**
 * True for a client of the pool on which somebody has left a transaction open. It waits for what was sent there before, such as a
 * `commit` that nobody waits for.
 */
export async function isLeftOpen(client: QueryClient): Promise<boolean> {
  if (!isInTransaction(client)) return false
  return client.query('').then(
    () => isInTransaction(client),
    () => true,
  )
}

/** A text that Postgres refuses outside a transaction, and that changes nothing in one. As one message, it is one round trip. */
const probe = 'savepoint outlay_probe; release savepoint outlay_probe'

/**
 * Lets Postgres decide whether a transaction is open. For what does not know it: a client of an older node-postgres, a pool, or
 * what a library has made of one.
 *
 * @throws OutlayError `no_transaction`
 */
export async function probeTransaction(send: (text: string) => PromiseLike<unknown>): Promise<void> {
  try {
    await send(probe)
  } catch (error) {
    throw hasSqlState(error, /^25P01$/) ? noTransaction('is not in a transaction') : error
  }
}
