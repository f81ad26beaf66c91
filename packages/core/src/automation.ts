import type { Catalog } from './catalog.ts'
import {
  closeInput,
  enter,
  has,
  type Input,
  member,
  notInCatalog,
  openInput,
  type PegOptions,
  readId,
  readText,
  refuse,
} from './input.ts'
import type { WireInstructions } from './payment.ts'
import type { TransferTypeName } from './transfer-type.ts'
import { pegProblem, type ValueType, type ValueTypeName } from './value-type.ts'

/** Statuses of an automation. Specification: "Automation statuses". */
export const automationStatuses = ['pending', 'processing', 'active', 'disabled', 'archived'] as const

/** Status of an automation; `complete` in an answer is another word for `active`. */
export type AutomationStatus = (typeof automationStatuses)[number]

/** The statuses that may follow each status of an automation. */
export const automationTransitions = {
  pending: ['processing', 'archived'],
  processing: ['active', 'archived'],
  active: ['disabled', 'archived'],
  disabled: ['active', 'archived'],
  archived: [],
} as const satisfies Record<AutomationStatus, readonly AutomationStatus[]>

/** Where the transfers of an automation go. */
export interface AutomationDestination {
  readonly addressId: string
  readonly valueType: ValueTypeName
  readonly transferType: TransferTypeName
}

/** A virtual bank account whose deposits become transfers. Specification: "Automation". */
export interface Automation {
  readonly id: string
  readonly name: string
  readonly status: AutomationStatus
  readonly source: {
    /** `USD`. */
    readonly valueType: ValueTypeName
    readonly transferType: null
    /** `null` until the automation is active. */
    readonly fundingInstructions: WireInstructions | null
  }
  readonly destination: AutomationDestination
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** ISO 8601, UTC. */
  readonly updatedAt: string
}

/** An automation to create. Specification: "POST /accounts/{account_id}/automations". */
export interface AutomationRequest {
  readonly name: string
  readonly source: { readonly valueType: ValueTypeName }
  readonly destination: AutomationDestination
  /** The account whose name and address are the beneficiary of the funding instructions. */
  readonly brand?: { readonly accountId: string } | undefined
}

const members = {
  name: member('name'),
  source: member('source'),
  destination: member('destination'),
  destinationAddress: member('destinationAddress'),
  brand: member('brand'),
  accountId: member('accountId'),
  addressId: member('addressId'),
  valueType: member('valueType'),
  transferType: member('transferType'),
} as const

const aliases: Readonly<Record<string, AutomationStatus>> = { complete: 'active', completed: 'active' }

const readStatus = (value: unknown): AutomationStatus | undefined => {
  if (typeof value !== 'string') return undefined
  return (
    automationStatuses.find((status) => status === value) ??
    (Object.hasOwn(aliases, value) ? aliases[value] : undefined)
  )
}

const allows = (from: AutomationStatus, to: AutomationStatus): boolean =>
  (automationTransitions[from] as readonly AutomationStatus[]).includes(to)

/** Rules of automations. */
export const Automation = {
  /** The status that a text means, `complete` and `completed` being `active`; `undefined` for anything else. */
  readStatus,
  /** True when the status may change from one to the other. */
  allows,
} as const

const readSource = (parent: Input, catalog: Catalog): ValueType | undefined => {
  const input = enter(parent, members.source)
  const name = input && readText(input, members.valueType)
  if (input === undefined || name === undefined) return undefined
  const type = catalog.valueType(name)
  if (type === undefined)
    return refuse(input, members.valueType, 'unknown_value_type', notInCatalog(catalog.valueTypes))
  if (type.name === 'USD') return type
  return refuse(input, members.valueType, 'unsupported_flow', 'must be USD: other automations are not available yet')
}

const readDestination = (
  parent: Input,
  catalog: Catalog,
  source: ValueType | undefined,
): AutomationDestination | undefined => {
  const isAlias = !has(parent.record, members.destination) && has(parent.record, members.destinationAddress)
  const input = enter(parent, isAlias ? members.destinationAddress : members.destination)
  if (input === undefined) return undefined
  const addressId = readId(input, members.addressId)
  const valueName = readText(input, members.valueType)
  const railName = readText(input, members.transferType)
  if (valueName === undefined || railName === undefined) return undefined
  const value = catalog.valueType(valueName)
  const rail = catalog.transferType(railName)
  if (value === undefined) refuse(input, members.valueType, 'unknown_value_type', notInCatalog(catalog.valueTypes))
  if (rail === undefined)
    refuse(input, members.transferType, 'unknown_transfer_type', notInCatalog(catalog.transferTypes))
  if (value === undefined || rail === undefined) return undefined
  if (rail.family === 'bank') return refuse(input, members.transferType, 'unsupported_flow', 'must be a chain')
  if (!catalog.pairs(value.name, rail.name)) {
    const message = `${value.name} does not move on ${rail.name}`
    return refuse(input, members.transferType, 'transfer_type_not_supported', message)
  }
  const problem = source && pegProblem(source, value)
  if (problem !== undefined) return refuse(input, members.valueType, 'peg_mismatch', problem)
  return addressId === undefined ? undefined : { addressId, valueType: value.name, transferType: rail.name }
}

/**
 * Reads the body that creates an automation; members in either spelling, and the destination as `destination` or as
 * `destination_address`. Throws one OutlayError whose `issues` name every
 * broken rule: `missing_field`, `invalid_request`, `invalid_id`, `unknown_value_type`, `unknown_transfer_type`,
 * `transfer_type_not_supported`, `unsupported_flow`; with `options.samePeg`, `peg_mismatch`.
 */
export const parseAutomationRequest = (
  body: unknown,
  catalog: Catalog,
  options: PegOptions = {},
): AutomationRequest => {
  const input = openInput(body, options)
  const name = readText(input, members.name)
  const source = readSource(input, catalog)
  const destination = readDestination(input, catalog, options.samePeg === true ? source : undefined)
  const brand = enter(input, members.brand, true)
  const accountId = brand && readId(brand, members.accountId)
  closeInput(input)
  if (name === undefined || source === undefined || destination === undefined) {
    throw new Error('parseAutomationRequest: nothing was refused and something was not read')
  }
  const branded = accountId === undefined ? {} : { brand: { accountId } }
  return { name, source: { valueType: source.name }, destination, ...branded }
}
