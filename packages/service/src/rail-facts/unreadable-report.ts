import type { ServiceContext } from '../context.ts'
import { asSystem } from '../database/tenant.ts'
import { finishFacts, isFinished, recordFact } from './rail-facts.ts'
import { reportExceptions } from './reporting.ts'
import { undisclosed } from './unreadable-fact.ts'

/** Makes an exception of what a bank said about an account and nobody can read, without the account. Once, however often it is reported. */
export async function refuseUnreadable(context: ServiceContext, said: unknown): Promise<void> {
  const system = asSystem(context)
  const stored = await recordFact(system, context, undisclosed(said))
  if (isFinished(stored)) return
  const { id, kind } = stored
  await finishFacts(system, context, [{ id, reason: 'unreadable' }])
  reportExceptions(context, [{ id, kind, reason: 'unreadable' }])
}
