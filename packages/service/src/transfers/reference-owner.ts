import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { observationOf } from '../rails/gateway.ts'
import type { RailFact } from '../rails/port.ts'
import type { KnownTransfer } from './known-transfer.ts'

/**
 * Whose payment the reference of a fact names: that of its transfer, that of another transfer of the account, or none that is known. `blocked`: none,
 * and the engine does not ask for one any more.
 */
export type ReferenceOwner = 'own' | 'another' | 'none' | 'blocked'

/**
 * Finds the transfer whose payment a fact is about. The engine finds it by the reference, so a fact with the reference of another transfer would
 * move that one.
 */
export async function findOwner(
  tx: Tx,
  context: ServiceContext,
  fact: RailFact,
  transfer: KnownTransfer,
): Promise<ReferenceOwner> {
  if (transfer.hasReference) return 'own'
  const read = () => context.engine.transfers.get(transfer.id, tx)
  const named = (known: string) => (known === fact.reference ? 'own' : 'another')
  const stored = await read()
  if (stored?.remoteId != null) return named(stored.remoteId)
  if (!(await hasAny(tx, context, fact, transfer))) return stored?.stage === 'blocked' ? 'blocked' : 'none'
  // The engine may have learned it meanwhile.
  return named((await read())?.remoteId ?? '')
}

/**
 * True where the account has a transfer with this reference. The engine may know one before its event is applied here, and says nothing of what changes
 * nothing. So both are asked.
 */
async function hasAny(
  tx: Tx,
  context: ServiceContext,
  fact: RailFact,
  { id, accountId }: KnownTransfer,
): Promise<boolean> {
  if ((await run(tx, context, selectOthers, [accountId, fact.reference, id])).length > 0) return true
  await tx.query('savepoint reference_of_another')
  const changed = await context.engine.transfers.observe(tx, accountId, [observationOf({ ...fact, state: fact.kind })])
  await tx.query('rollback to savepoint reference_of_another; release savepoint reference_of_another')
  return changed > 0
}

const selectOthers = statement(
  'transfer_select_by_reference',
  `select true as found from {{schema}}.transfer
    where account_id = $1 and reference = $2 and id <> $3
      and (source_transaction_id = $2 or destination_transaction_id = $2)
    limit 1`,
)
