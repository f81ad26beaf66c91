import { type Amount, type Balance, type Catalog, defaultCatalog } from '@outlay/core'
import { decodeAmount, readDigits } from './amount.ts'
import { readTransferType, readValueType } from './catalog.ts'
import { attachRaw, isRecord, type JsonRecord, readMember, readOptionalText, unreadable, type WithRaw } from './json.ts'

/**
 * Reads one balance. The specification shows no shape, so amounts may be objects or bare decimal strings, and the address an
 * object or an `address_id`. Without `available`, the balance itself is available.
 *
 * @throws OutlayError `unreadable_response`, with the member
 */
export function decodeBalance(value: unknown, catalog: Catalog = defaultCatalog): WithRaw<Balance> {
  if (!isRecord(value)) throw unreadable('', 'a balance')
  const total = readMember(value, 'balance') === undefined ? 'amount' : 'balance'
  const balance = readQuantity(value, total, catalog)
  return attachRaw(
    {
      address: readAddress(value),
      balance,
      available: readMember(value, 'available') === undefined ? balance : readQuantity(value, 'available', catalog),
      valueType:
        readMember(value, 'value_type') === undefined
          ? balance.currency
          : readValueType(value, 'value_type', 'value_type', catalog),
      transferType: readTransferType(value, 'transfer_type', 'transfer_type', catalog),
    },
    value,
  )
}

const readQuantity = (record: JsonRecord, name: string, catalog: Catalog): Amount => {
  if (isRecord(readMember(record, name))) return decodeAmount(record, name, catalog)
  return { value: readDigits(record, name, name), currency: readValueType(record, 'value_type', 'value_type', catalog) }
}

const readAddress = (record: JsonRecord): Balance['address'] => {
  const address = readMember(record, 'address')
  const nested = isRecord(address) ? address : {}
  return {
    id: readOptionalText(nested, 'id') ?? readOptionalText(record, 'address_id') ?? '',
    address: readOptionalText(nested, 'address') ?? (typeof address === 'string' ? address : ''),
  }
}
