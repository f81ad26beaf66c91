import type { Catalog } from '@outlay/core'
import { type JsonRecord, readMember, readText } from './json.ts'

/** Reads a value type in any case. Returns the canonical spelling of the catalog, or the text itself if it is unknown. */
export function readValueType(record: JsonRecord, name: string, path: string, catalog: Catalog): string {
  return canonicalValueType(readText(record, name, path), catalog)
}

/** Reads a transfer type in any case. Returns the canonical spelling of the catalog, or the text itself if it is unknown. */
export function readTransferType(record: JsonRecord, name: string, path: string, catalog: Catalog): string {
  return canonicalTransferType(readText(record, name, path), catalog)
}

/** Canonical spelling of a value type: `usdc` is `USDC`. */
function canonicalValueType(name: string, catalog: Catalog): string {
  return (catalog.valueType(name) ?? catalog.valueType(name.toUpperCase()))?.name ?? name
}

/** Canonical spelling of a transfer type: `Polygon` is `polygon`, `rtp_credit` is `rtp`. */
function canonicalTransferType(name: string, catalog: Catalog): string {
  return (catalog.transferType(name) ?? catalog.transferType(name.toLowerCase()))?.name ?? name
}

/** Reads a list of transfer types, under `transfer_types` or `transfer_type`. A single one may be a bare string. */
export function readTransferTypes(record: JsonRecord, catalog: Catalog): readonly string[] {
  const names = readMember(record, 'transfer_types') ?? readMember(record, 'transfer_type') ?? []
  const list: readonly unknown[] = Array.isArray(names) ? names : [names]
  return list.filter((name) => typeof name === 'string').map((name) => canonicalTransferType(name, catalog))
}
