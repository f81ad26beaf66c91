import type { BatchQuery, Inspection, KeyFound, KeyQuery, RemoteIdQuery } from '@outlay/adapters-pg'
import type { Batch, Catalog, Engine, KnownPayees } from '@outlay/core'
import type { PayeeQuery } from '@outlay/core/adapter'
import type { Figures } from './figures.ts'

/** The host's own transaction: the console only passes it on. */
export type Transaction = unknown

/** One entry of the audit, without who: that is known. */
export interface ActionEntry {
  readonly command: string
  readonly reason?: string | undefined
  readonly transferId?: string | undefined
  readonly before?: unknown
  readonly after?: unknown
}

/** What handlers of routes work with. */
export interface ConsoleContext {
  /** The host's engine, for commands and what they ask the service. */
  readonly engine: Engine<Transaction>
  /** An engine on the same database whose reads wait for nothing for long. It has no gateway. */
  readonly reads: Engine<Transaction>
  readonly inspection: Inspection<Transaction>
  /** Which of the counterparties that policies name are paid. */
  readonly readPayees: (query: PayeeQuery) => Promise<KnownPayees>
  readonly listBatches: (query: BatchQuery) => Promise<readonly Batch[]>
  readonly searchRemoteId: (query: RemoteIdQuery) => Promise<readonly string[]>
  readonly searchKey: (query: KeyQuery) => Promise<KeyFound>
  /** Locks transfers until the transaction ends. */
  readonly lockTransfers: (tx: Transaction, transferIds: readonly string[]) => Promise<void>
  readonly schema: string
  /** Reads of everything that waits, shared by all who ask. */
  readonly figures: Figures
  readonly catalog: Catalog
  /** Names of pairs of metadata whose values are shown as they are. */
  readonly shownMetadata: ReadonlySet<string>
  /** Runs an action in one transaction with the entries of its audit. None of its statements waits for long. */
  act<T>(
    actor: string,
    work: (tx: Transaction, record: (entry: ActionEntry) => Promise<void>) => Promise<T>,
  ): Promise<T>
  /**
   * The same for what holds payments back, which is done also where the audit can be neither read nor written: the command writes its own entry, or else has
   * it in the log.
   */
  readonly holdBack: ConsoleContext['act']
}
