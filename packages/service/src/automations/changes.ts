import { Automation, type AutomationStatus, automationStatuses, Limits, OutlayError } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { listOf, run, statement } from '../database/statement.ts'
import { type AutomationRow, findAutomation, readAutomation } from './automations.ts'

/** Changes to an automation by a client. */
export interface AutomationChange {
  readonly name?: string | undefined
  /** `active` enables a disabled one again. */
  readonly status?: 'active' | 'disabled' | 'archived' | undefined
}

/**
 * Reads the body of a change. Ignores unknown members.
 * @throws OutlayError `invalid_request` with the member.
 */
export function parseAutomationChange(body: unknown): AutomationChange {
  const { name, status } = (typeof body === 'object' && body !== null ? body : {}) as Readonly<Record<string, unknown>>
  if (name === undefined && status === undefined) {
    throw new OutlayError('invalid_request', 'Send a status or a name to change.', { field: '' })
  }
  return { name: readName(name), status: readStatus(status) }
}

function readName(name: unknown): string | undefined {
  if (name === undefined) return undefined
  if (typeof name === 'string' && name.trim() !== '' && name.length <= Limits.nameCharacters) return name
  throw new OutlayError('invalid_request', `A name has 1 to ${Limits.nameCharacters} characters.`, { field: 'name' })
}

function readStatus(given: unknown): AutomationChange['status'] {
  if (given === undefined) return undefined
  const status = Automation.readStatus(given)
  if (status === 'active' || status === 'disabled' || status === 'archived') return status
  throw new OutlayError('invalid_request', 'The status can be set to disabled, archived or active.', {
    field: 'status',
  })
}

/** Statuses that a client may change. Only the service leaves the others, except that a client may archive them. */
function statusesBefore(to: AutomationStatus): readonly AutomationStatus[] {
  if (to === 'active') return ['active', 'disabled']
  return automationStatuses.filter((from) => from === to || Automation.allows(from, to))
}

/**
 * Changes an automation in the caller's transaction; `undefined` when the account has none with this id. Deposits to a disabled or
 * archived one are returned. Setting the current status changes nothing.
 *
 * @throws OutlayError `conflict` when the current status does not allow the new one.
 */
export async function changeAutomation(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  automationId: string,
  change: AutomationChange,
): Promise<AutomationRow | undefined> {
  const { name = null, status = null } = change
  const from = status === null ? automationStatuses : statusesBefore(status)
  const values = [accountId, automationId, name, status, from, context.clock.now()]
  const [changed] = await run(tx, context, updateAutomation, values)
  if (changed !== undefined) return changed
  const current = await findAutomation(tx, context, accountId, automationId)
  if (current === undefined) return undefined
  throw new OutlayError('conflict', `An automation that is ${current.status} cannot become ${status}.`, {
    field: 'status',
  })
}

const updateAutomation = statement(
  'automation_update',
  `update {{schema}}.automation
      set name = coalesce($3, name),
          status = coalesce($4, status),
          open_at = case when $4 = 'archived' then null else open_at end,
          updated_at = case
            when name <> coalesce($3, name) or status <> coalesce($4, status) then $6::timestamptz
            else updated_at
          end
    where account_id = $1 and id = $2 and status = any ($5)
   returning ${listOf(readAutomation)}`,
  readAutomation,
)
