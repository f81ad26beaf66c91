import type { ServiceContext } from '../context.ts'
import { afterCommit } from '../database/after-commit.ts'
import { finishFacts, type NewRailFact, recordFact } from '../rail-facts/rail-facts.ts'
import { reportExceptions } from '../rail-facts/reporting.ts'

/**
 * Makes transfers that the engine has blocked visible: it sends them no more, and they stay pending until a person decides. Each is a
 * warning. One whose payment has the reference of another transfer of its account is an exception of the rails, too.
 */
export function subscribeToBlocked(context: ServiceContext): void {
  context.engine.subscribeMany('service-blocked', ['transfer.blocked'], async (events, tx) => {
    for (const { transferId, accountId, transfer } of events) {
      const { reason } = transfer
      const message = 'The engine has blocked a transfer; a person has to resolve it.'
      afterCommit(tx, () => context.logger.warn({ transferId, reason }, message))
      if (reason !== 'remote_id_taken') continue
      const fact = reusedReference(transferId, accountId)
      const { id, kind } = await recordFact(tx, context, fact)
      await finishFacts(tx, context, [{ id, reason: 'reference_reused' }])
      afterCommit(tx, () => reportExceptions(context, [{ id, kind, reason: 'reference_reused' }]))
    }
  })
}

/** The answer to a submission. The engine keeps the reference in its log of attempts. */
function reusedReference(transferId: string, accountId: string): NewRailFact {
  return { kind: 'accepted', reference: transferId, transferId, accountId, payload: { blocked: 'remote_id_taken' } }
}
