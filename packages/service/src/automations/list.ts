import type { ServiceContext } from '../context.ts'
import { startOf } from '../database/examined-page.ts'
import { asClient } from '../database/tenant.ts'
import { createTurns, type Turns } from '../http/turns.ts'
import { automationView, listAutomations, logUnreadable } from './automations.ts'

/** Automations that are read and written at once: about a millisecond, most of it to open account numbers. */
const partSize = 100

const turnsOf = new WeakMap<ServiceContext, Turns>()

/**
 * Writes all automations of an account as JSON, newest first, including archived ones. The list has no pages, so it is made in parts, between
 * which others are served. One that is created meanwhile is not in it. The log says once how many could not be read.
 */
export async function writeAutomations(
  context: ServiceContext,
  { clientId, accountId }: { readonly clientId: string; readonly accountId: string },
): Promise<string> {
  const turns = turnsOf.get(context) ?? createTurns()
  turnsOf.set(context, turns)
  const client = asClient(context, clientId)
  const parts: string[] = []
  let position: string | undefined = startOf('desc')
  const unreadable: { readonly automationId: string; readonly error: unknown }[] = []
  const note = (automationId: string, error: unknown) => unreadable.push({ automationId, error })
  while (position !== undefined) {
    const rows = await listAutomations(client, context, accountId, { position, limit: partSize })
    const write = () => rows.map((row) => JSON.stringify(automationView(context, row, note))).join(',')
    const isLast = rows.length < partSize
    if (rows.length > 0) parts.push(isLast ? write() : await turns.take(clientId, write))
    position = isLast ? undefined : rows.at(-1)?.id
  }
  const [first] = unreadable
  if (first !== undefined) {
    logUnreadable(context, { accountId, automationId: first.automationId, count: unreadable.length }, first.error)
  }
  return `{"automations":[${parts.join(',')}]}`
}
