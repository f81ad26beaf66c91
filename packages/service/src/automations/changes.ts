import { Automation, type AutomationStatus, automationStatuses, Limits, OutlayError, TransferFlow } from '@outlay/core'
import { isId } from '../clients/authenticate.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { listOf, run, statement } from '../database/statement.ts'
import { findParties } from '../transfers/parties.ts'
import { type AutomationRow, findAutomation, readAutomation } from './automations.ts'

/** Changes to an automation by a client. */
export interface AutomationChange {
  readonly name?: string | undefined
  /** `active` enables a disabled one again. */
  readonly status?: 'active' | 'disabled' | 'archived' | undefined
  readonly destination?: ChangedDestination | undefined
}

/** Where the deposits of an automation go from now on: another address, which gets the same value type on the same chain. */
interface ChangedDestination {
  readonly addressId: string
  /** Absent, or those that the automation has. */
  readonly valueType: string | undefined
  readonly transferType: string | undefined
  /** Where the body has the id. */
  readonly field: string
}

type Members = Readonly<Record<string, unknown>>

/**
 * Reads the body of a change. Ignores unknown members.
 * @throws OutlayError `invalid_request` with the member.
 */
export function parseAutomationChange(body: unknown): AutomationChange {
  const members = asMembers(body)
  const { name, status } = members
  const destination = readDestination(members)
  if (name === undefined && status === undefined && destination === undefined) {
    throw new OutlayError('invalid_request', 'Send a status, a name or a destination to change.', { field: '' })
  }
  return { name: readName(name), status: readStatus(status), destination }
}

/**
 * Reads the body of a change of the destination: the id of its address.
 * @throws OutlayError `missing_field`, `invalid_id`.
 */
export function parseDestinationChange(body: unknown): AutomationChange {
  const { address_id: snake, addressId: camel = snake } = asMembers(body)
  if (camel === undefined || camel === null) {
    throw new OutlayError('missing_field', 'Send the id of the new address.', { field: 'address_id' })
  }
  return { destination: { addressId: readId(camel, 'address_id'), ...unchangedTypes, field: 'address_id' } }
}

/** The destination under any of its names: as in a create, or the id of the address alone. */
function readDestination(members: Members): ChangedDestination | undefined {
  const { address_id: alone = members['addressId'], destination_address: alias = members['destinationAddress'] } =
    members
  const given = [alone, members['destination'], alias].filter((one) => one !== undefined && one !== null)
  if (given.length === 0) return undefined
  if (given.length > 1) {
    throw new OutlayError('invalid_request', 'The destination is there under two names; send one of them.', {
      field: alone === undefined ? 'destination' : 'address_id',
    })
  }
  if (given[0] === alone) return { addressId: readId(alone, 'address_id'), ...unchangedTypes, field: 'address_id' }
  const name = given[0] === alias ? 'destination_address' : 'destination'
  const { address_id: snake, addressId = snake, ...types } = asMembers(given[0])
  const { value_type: valueType = types['valueType'], transfer_type: transferType = types['transferType'] } = types
  const field = `${name}.address_id`
  return {
    addressId: readId(addressId, field),
    valueType: readType(valueType, `${name}.value_type`),
    transferType: readType(transferType, `${name}.transfer_type`),
    field,
  }
}

const unchangedTypes = { valueType: undefined, transferType: undefined }

const asMembers = (value: unknown): Members => (typeof value === 'object' && value !== null ? value : {}) as Members

function readId(given: unknown, field: string): string {
  if (typeof given === 'string' && isId(given)) return given
  throw new OutlayError('invalid_id', 'Send the id of an address of the account.', { field })
}

function readType(given: unknown, field: string): string | undefined {
  if (given === undefined || given === null || typeof given === 'string') return given ?? undefined
  throw new OutlayError('invalid_request', 'Send text, or leave it out.', { field })
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
 * archived one are returned. Setting the current status changes nothing. A deposit that is being accepted goes to the destination that is
 * committed first.
 *
 * @throws OutlayError for another destination what `findParties` throws, and `invalid_request` where it is to get something else than the
 *   automation's; `conflict` when the current status does not allow the change.
 */
export async function changeAutomation(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  automationId: string,
  change: AutomationChange,
): Promise<AutomationRow | undefined> {
  const { name = null, status = null, destination } = change
  if (destination !== undefined) {
    const found = await findAutomation(tx, context, accountId, automationId)
    if (found === undefined) return undefined
    await checkDestination(tx, context, found, destination)
  }
  const before = status === null ? automationStatuses : statusesBefore(status)
  const from = destination === undefined ? before : before.filter((one) => one !== 'archived')
  const to = destination?.addressId ?? null
  const values = [accountId, automationId, name, status, from, context.clock.now(), to]
  const [changed] = await run(tx, context, updateAutomation, values)
  if (changed !== undefined) return changed
  const current = await findAutomation(tx, context, accountId, automationId)
  if (current === undefined) return undefined
  const problem = status === null ? 'cannot get another destination' : `cannot become ${status}`
  throw new OutlayError('conflict', `An automation that is ${current.status} ${problem}.`, {
    field: status === null ? destination?.field : 'status',
  })
}

/** The new address has to be one that a create would take. */
async function checkDestination(
  tx: Tx,
  context: ServiceContext,
  automation: AutomationRow,
  { addressId, field, ...types }: ChangedDestination,
): Promise<void> {
  const { account_id: accountId, environment, source_value_type: source } = automation
  const valueType = automation.destination_value_type
  const transferType = automation.destination_transfer_type
  const value = types.valueType === undefined ? valueType : context.catalog.valueType(types.valueType)?.name
  const rail = types.transferType === undefined ? transferType : context.catalog.transferType(types.transferType)?.name
  if (value !== valueType || rail !== transferType) {
    const message = `Only the address can be changed; it gets ${valueType} on ${transferType}. Create another automation for anything else.`
    throw new OutlayError('invalid_request', message, {
      field: field.replace('address_id', value === valueType ? 'transfer_type' : 'value_type'),
    })
  }
  const legs = {
    source: { valueType: source, transferType: 'wire' },
    destination: { addressId, valueType, transferType },
  }
  try {
    const { destination } = await findParties(tx, context, accountId, environment, legs)
    TransferFlow.classify(legs, context.catalog, { destination: destination.type })
  } catch (error) {
    if (!OutlayError.is(error) || error.field?.startsWith('destination.') !== true) throw error
    throw new OutlayError(error.code, error.message, { field })
  }
}

const updateAutomation = statement(
  'automation_update',
  `update {{schema}}.automation
      set name = coalesce($3, name),
          status = coalesce($4, status),
          destination_address_id = coalesce($7, destination_address_id),
          open_at = case when $4 = 'archived' then null else open_at end,
          updated_at = case
            when name <> coalesce($3, name) or status <> coalesce($4, status)
              or destination_address_id <> coalesce($7, destination_address_id) then $6::timestamptz
            else updated_at
          end
    where account_id = $1 and id = $2 and status = any ($5)
   returning ${listOf(readAutomation)}`,
  readAutomation,
)
