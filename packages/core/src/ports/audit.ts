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

/** Keeps who did what. Nothing of it is changed or removed. */
export interface AuditPort<Tx> {
  /** Writes an entry in the transaction of its command. */
  recordAudit(tx: Tx, entry: AuditEntry): Promise<void>
  readAudit(query: AuditQuery, tx?: Tx): Promise<readonly AuditRecord[]>
}
