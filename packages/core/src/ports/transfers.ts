import type { CounterpartyDetails } from '../counterparty.ts'
import type { NewTransfer } from './new-transfer.ts'
import type { ExpectedFacts, StoredFacts } from './policies.ts'
import type { EnqueuedTransfer, StoredTransfer } from './stored-transfer.ts'
import type { TransferPage, TransferQuery } from './transfer-query.ts'

/** Writes transfers in the host's transaction and reads them. */
export interface TransferPort<Tx> {
  /**
   * Writes transfers, events and rows of the outbox in the host's transaction, in the order given. For a key that the account
   * already has, it returns the stored transfer with `reused: true`, whatever its fingerprint; the engine compares the
   * fingerprints. New transfers store the W3C trace context in which they are enqueued, if there is one. Writes nothing and returns
   * `stale` where the policies, as the transaction sees them, are others than those with the tag. One transfer may be given with the facts that it was judged by:
   * where these are others, nothing is written and they are returned.
   */
  enqueue(
    tx: Tx,
    transfers: readonly NewTransfer[],
    traceparent: string | undefined,
    policyTag: string | null,
    expected: ExpectedFacts | undefined,
  ): Promise<readonly EnqueuedTransfer[] | 'stale' | { readonly facts: StoredFacts }>
  /** One transfer as the transaction sees it; without a transaction, as it is committed. */
  get(transferId: string, tx?: Tx): Promise<StoredTransfer | undefined>
  getByKey(accountId: string, idempotencyKey: string, tx?: Tx): Promise<StoredTransfer | undefined>
  /** Whether the account of each of these has a transfer with its key already, as the transaction sees it; one statement for all. */
  areStored(
    tx: Tx,
    transfers: readonly Pick<NewTransfer, 'accountId' | 'idempotencyKey'>[],
  ): Promise<readonly boolean[]>
  /** A page of transfers, as the transaction sees them; without a transaction, as they are committed. Reads a bounded number of rows. */
  find(query: TransferQuery, tx?: Tx): Promise<TransferPage>
  /** Details of a counterparty that was never registered; `undefined` when it was registered, or when the details are wiped. */
  counterparty(tx: Tx, transferId: string): Promise<CounterpartyDetails | undefined>
}
