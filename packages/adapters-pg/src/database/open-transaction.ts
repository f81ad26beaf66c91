import { OutlayError } from '@outlay/core'
import { hasSqlState } from './lock-timeout.ts'

/** A refusal of a write that would commit by itself, apart from the rows of the host. */
export function noTransaction(why: string): OutlayError {
  const message = `tx ${why}, so this would be committed apart from your own rows; pass the transaction that your library gives, or a client on which "begin" has run`
  return new OutlayError('no_transaction', message, { field: 'tx' })
}

/** True when a client of node-postgres knows that a transaction is open on it: each answer of Postgres says so. */
export function isInTransaction(client: unknown): boolean {
  const { getTransactionStatus } = (client ?? {}) as { readonly getTransactionStatus?: unknown }
  if (typeof getTransactionStatus !== 'function') return false
  const status: unknown = getTransactionStatus.call(client)
  // In a failed transaction, Postgres refuses whatever comes next.
  return status === 'T' || status === 'E'
}

/** A text that Postgres refuses outside a transaction, and that changes nothing in one. As one message, it is one round trip. */
const probe = 'savepoint outlay_probe; release savepoint outlay_probe'

/**
 * Lets Postgres decide whether a transaction is open. For what is not known to be in one: it may be a client whose `begin` is
 * still under way, or one of an older node-postgres.
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
