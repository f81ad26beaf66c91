import type { Amount, Catalog } from '@outlay/core'
import { readValueType } from './catalog.ts'
import { isRecord, type JsonRecord, readMember, unreadable } from './json.ts'

/** Reads an amount. Specification: "Amount". Keeps the digits as they are; never converts to a binary fraction. */
export function decodeAmount(record: JsonRecord, name: string, catalog: Catalog): Amount {
  const amount = readMember(record, name)
  if (!isRecord(amount)) throw unreadable(name, 'an amount')
  return {
    value: readDigits(amount, 'value', `${name}.value`),
    currency: readValueType(amount, 'currency', `${name}.currency`, catalog),
  }
}

/** Reads a decimal number that is a string, or that `parseJson` made a string. */
export function readDigits(record: JsonRecord, name: string, path: string): string {
  const value = readMember(record, name)
  if (typeof value !== 'string' || !/^\d+(\.\d+)?$/.test(value)) throw unreadable(path, 'a decimal string')
  return value
}
