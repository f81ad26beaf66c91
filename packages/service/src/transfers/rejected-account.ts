import type { ServiceContext, Tx } from '../context.ts'
import { listOf, run, statement } from '../database/statement.ts'
import { cancelInEngine } from './cancellation.ts'
import { advanceTransfers } from './progress.ts'
import { readTransfer } from './row.ts'

/**
 * Ends the transfers of a rejected account that no rail can have, in the caller's transaction: they fail as `account_rejected`, and what is
 * held for them is available again. The others go on, since their money may have moved: those that were sent, inbound wires, and what
 * deposits at virtual accounts have funded.
 */
export async function failUnsent(tx: Tx, context: ServiceContext, accountId: string): Promise<void> {
  const occurredAt = context.clock.now().toISOString()
  const detail = 'The account was rejected before the transfer was sent.'
  const failure = { type: 'rejected', code: 'account_rejected', detail, occurredAt, retriable: false } as const
  const unsent = []
  for (const { id } of await run(tx, context, lockWaiting, [accountId])) {
    if (await cancelInEngine(tx, context, id))
      unsent.push({ id, type: 'transfer.failed', failure, reference: null } as const)
  }
  if (unsent.length > 0) await advanceTransfers(tx, context, unsent)
}

// In the order in which events of the engine lock them.
const lockWaiting = statement(
  'transfer_lock_waiting',
  `select ${listOf(readTransfer)} from {{schema}}.transfer
    where account_id = $1 and status = 'pending' and wire_instructions is null and automation_id is null and reference is null
    order by id
      for no key update`,
  readTransfer,
)
