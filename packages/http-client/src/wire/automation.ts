import {
  Automation,
  type AutomationDestination,
  type AutomationRequest,
  type AutomationStatus,
  type Catalog,
  defaultCatalog,
  type WireInstructions,
} from '@outlay/core'
import { readTransferType, readValueType } from './catalog.ts'
import {
  attachRaw,
  isRecord,
  type JsonRecord,
  readMember,
  readOptionalText,
  readText,
  readTimestamp,
  unreadable,
  type WithRaw,
} from './json.ts'
import { decodeWireInstructions } from './payment.ts'

/** Writes the body that creates an automation. Specification: "POST /accounts/{account_id}/automations". */
export function encodeAutomationRequest({ name, source, destination, brand }: AutomationRequest): JsonRecord {
  return {
    name,
    source: { value_type: source.valueType },
    destination: {
      address_id: destination.addressId,
      value_type: destination.valueType,
      transfer_type: destination.transferType,
    },
    brand: brand === undefined ? undefined : { account_id: brand.accountId },
  }
}

/**
 * An automation as the service returns it. By the public contract, the flat form has neither of the times.
 * Specification: "Automation".
 */
export interface ReadAutomation extends Omit<Automation, 'createdAt' | 'updatedAt'> {
  /** ISO 8601, UTC; `undefined` when the service does not say. */
  readonly createdAt: string | undefined
  /** ISO 8601, UTC; `undefined` when the service says neither this nor `createdAt`. */
  readonly updatedAt: string | undefined
  /** The account whose name is on the funding instructions, where the service repeats it. */
  readonly brand?: AutomationRequest['brand']
}

/**
 * Reads one automation, nested (`source`, `destination`) or flat (`wire_instructions`, `destinationAddress`), into one
 * form; `complete` is `active`. Specification: "Automation".
 *
 * @throws OutlayError `unreadable_response`, with the member
 */
export function decodeAutomation(value: unknown, catalog: Catalog = defaultCatalog): WithRaw<ReadAutomation> {
  if (!isRecord(value)) throw unreadable('', 'an automation')
  const createdAt = readTimestamp(value, 'created_at') ?? readTimestamp(value, 'created')
  if (createdAt === undefined && (readMember(value, 'created_at') ?? null) !== null)
    throw unreadable('created_at', 'a timestamp')
  const nested = readMember(value, 'source')
  const source = isRecord(nested) ? nested : {}
  const automation: ReadAutomation = {
    id: readText(value, 'id', 'id'),
    name: readOptionalText(value, 'name') ?? '',
    status: decodeStatus(value),
    source: {
      // The flat form omits it. A virtual bank account accepts only dollars.
      valueType:
        readMember(source, 'value_type') === undefined
          ? 'USD'
          : readValueType(source, 'value_type', 'source.value_type', catalog),
      transferType: null,
      fundingInstructions: decodeFundingInstructions(value, source),
    },
    destination: decodeDestination(value, catalog),
    createdAt,
    updatedAt: readTimestamp(value, 'updated_at') ?? readTimestamp(value, 'updated') ?? createdAt,
    ...decodeBrand(value),
  }
  return attachRaw(automation, value)
}

const decodeStatus = (automation: JsonRecord): AutomationStatus => {
  const status = Automation.readStatus(readText(automation, 'status', 'status').toLowerCase())
  if (status === undefined) throw unreadable('status', 'a status of an automation')
  return status
}

const decodeBrand = (automation: JsonRecord): Pick<ReadAutomation, 'brand'> => {
  const brand = readMember(automation, 'brand')
  const accountId = isRecord(brand) ? readOptionalText(brand, 'account_id') : undefined
  return accountId === undefined ? {} : { brand: { accountId } }
}

const decodeFundingInstructions = (automation: JsonRecord, source: JsonRecord): WireInstructions | null =>
  decodeWireInstructions(source, 'funding_instructions') ??
  decodeWireInstructions(source, 'wire_instructions') ??
  decodeWireInstructions(automation, 'funding_instructions') ??
  decodeWireInstructions(automation, 'wire_instructions') ??
  null

const decodeDestination = (automation: JsonRecord, catalog: Catalog): AutomationDestination => {
  const destination = ['destination', 'destination_address'].map((name) => readMember(automation, name)).find(isRecord)
  if (destination === undefined) throw unreadable('destination', 'an object')
  return {
    addressId: readText(destination, 'address_id', 'destination.address_id'),
    valueType: readValueType(destination, 'value_type', 'destination.value_type', catalog),
    transferType: readTransferType(destination, 'transfer_type', 'destination.transfer_type', catalog),
  }
}
