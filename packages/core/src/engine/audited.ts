import type { AuditEntry, AuditPort } from '../ports/audit.ts'
import type { Logger } from '../ports/runtime.ts'
import type { OperatorNote } from '../ports/safety.ts'

/** What a command did, without who and why. */
type Done = Pick<AuditEntry, 'command'> & Partial<Pick<AuditEntry, 'transferId' | 'before' | 'after'>>

const entryOf = (
  { actor, reason }: OperatorNote,
  { command, transferId = null, before = null, after = null }: Done,
): AuditEntry => ({ command, actor: actor ?? null, reason: reason ?? null, transferId, before, after })

/** Writes down a command in its transaction. Where nobody is named, the entry has the login alone. */
export const recordCommand = <Tx>(
  backend: Pick<AuditPort<Tx>, 'recordAudit'>,
  tx: Tx,
  note: OperatorNote,
  done: Done,
): Promise<void> => backend.recordAudit(tx, entryOf(note, done))

/** Writes down commands that hold payments back. */
export type HoldingBackRecord<Tx> = (tx: Tx, note: OperatorNote, done: Done) => Promise<void>

/**
 * Makes what writes down a command that holds payments back: in an emergency it is done all the same where its entry cannot be written, and the log has
 * what the entry would have said.
 */
export const createHoldingBackRecord =
  <Tx>(backend: Pick<AuditPort<Tx>, 'tryRecordAudit'>, logger: Logger): HoldingBackRecord<Tx> =>
  async (tx, note, done) => {
    const entry = entryOf(note, done)
    if (await backend.tryRecordAudit(tx, entry)) return
    const { command, actor, reason, after } = entry
    logger.warn(
      { command, actor, reason, after },
      'the command is done, but its entry in the audit could not be written',
    )
  }
