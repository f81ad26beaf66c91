/** A command that somebody gave, as it is kept. */
export interface AuditEntry {
  /** Such as `transfers.approve`. */
  readonly command: string
  /** Who; null where the caller did not say. */
  readonly actor: string | null
  /** Why. */
  readonly reason: string | null
  /** The transfer that it was about; null for others. */
  readonly transferId: string | null
  readonly before: unknown
  readonly after: unknown
}

/** An entry that was written. */
export interface AuditRecord extends AuditEntry {
  readonly id: string
  /** ISO 8601, UTC. */
  readonly at: string
  /** The login that wrote it. */
  readonly login: string
}

/** Which entries are wanted, the newest first. */
export interface AuditQuery {
  readonly transferId?: string | undefined
  readonly actor?: string | undefined
  readonly command?: string | undefined
  /** Before this id. */
  readonly cursor?: string | undefined
  readonly limit: number
}

/** An entry at its place in the chain. */
export interface ChainedEntry {
  /** From 1 on, without gaps. */
  readonly position: number
  readonly id: string
  /** SHA-256 over the hash before, a line feed and the text, in hexadecimal digits. */
  readonly hash: string
  /** The entry as JSON, exactly as it is hashed; null for one that is not there any more. */
  readonly text: string | null
}

/** Where the chain ends, and what is not in it although it has to be. */
export interface ChainEnd {
  readonly position: number
  readonly hash: string
  /** Ids of entries that are not in the chain, of transactions that are: somebody added them by hand. At most a hundred. */
  readonly unchained: readonly string[]
}

/** Keeps who did what. Nothing of it is changed or removed. */
export interface AuditPort<Tx> {
  /** Writes an entry in the transaction of its command. */
  recordAudit(tx: Tx, entry: AuditEntry): Promise<void>
  /**
   * The same for a command that holds payments back, which must not fail for its entry. False where that could not be written, as in a schema that has no
   * audit yet, or where it is locked: the transaction goes on as if it had not been tried.
   */
  tryRecordAudit(tx: Tx, entry: AuditEntry): Promise<boolean>
  readAudit(query: AuditQuery, tx?: Tx): Promise<readonly AuditRecord[]>
  /** Adds committed entries to the chain, as many as `limit`, in a transaction of its own. Returns how many. Workers do that all the time. */
  chainAudit(limit: number): Promise<number>
  /** Entries of the chain behind a position, in their order. */
  readChain(after: number, limit: number): Promise<readonly ChainedEntry[]>
  /** The end of the chain; `undefined` where there is none. */
  readChainEnd(): Promise<ChainEnd | undefined>
  /**
   * Ids of committed entries that are not in the chain, of `among` alone where that is given; at most a hundred. In a transaction that only reads, and on a replica, those of
   * the last minute are left out: nobody there can add them.
   */
  readUnchained(among?: readonly string[]): Promise<readonly string[]>
  /** Waits until nobody is about to add to the chain, for at most two seconds. */
  awaitChain(): Promise<void>
}
