import { OutlayError } from '@outlay/core'

/** A JSON object of unknown content. */
export type JsonRecord = Readonly<Record<string, unknown>>

/** True for a JSON object, and not for an array or null. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const exactMembers = new Set(['value', 'amount', 'balance', 'available'])
const exactNumber = /"(?:value|amount|balance|available)"\s*:\s*[-\d]/

const keepDigits = (name: string, value: unknown, context: { readonly source?: string }): unknown =>
  typeof value === 'number' && exactMembers.has(name) && /^\d+(\.\d+)?$/.test(context.source ?? '')
    ? context.source
    : value

// The library types do not have the third argument, which contains the source text.
type Reviver = (name: string, value: unknown) => unknown

/**
 * Parses JSON. An amount that the service wrote as a number becomes the string of its digits, so that it is never a binary
 * fraction. A number in exponent form or with a sign stays a number, which no reader of amounts accepts.
 *
 * @throws OutlayError `unreadable_response`
 */
export function parseJson(text: string): unknown {
  try {
    // The reviver is many times slower, and amounts are strings in every documented answer.
    return exactNumber.test(text) ? JSON.parse(text, keepDigits as Reviver) : JSON.parse(text)
  } catch {
    throw new OutlayError('unreadable_response', 'the body is not JSON')
  }
}

/** Makes the error for a member that cannot be read. It names the member, and never shows its value. */
export function unreadable(field: string, expected: string): OutlayError {
  return new OutlayError('unreadable_response', `${field} is not ${expected}`, { field })
}

/** One member under its documented name, or under the same name in camel case. */
export function readMember(record: JsonRecord, name: string): unknown {
  const value = record[name]
  return value === undefined && name.includes('_') ? record[toCamel(name)] : value
}

const camelNames = new Map<string, string>()

const toCamel = (name: string): string => {
  const known = camelNames.get(name)
  if (known !== undefined) return known
  const camel = name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
  camelNames.set(name, camel)
  return camel
}

/** A member that must be an object. */
export function readRecord(record: JsonRecord, name: string, path: string): JsonRecord {
  const value = readMember(record, name)
  if (!isRecord(value)) throw unreadable(path, 'an object')
  return value
}

/** A member that must be a non-empty string. */
export function readText(record: JsonRecord, name: string, path: string): string {
  const value = readMember(record, name)
  if (typeof value !== 'string' || value === '') throw unreadable(path, 'a string')
  return value
}

/** A member that may be a string. A number becomes its digits; anything else is `undefined`. */
export function readOptionalText(record: JsonRecord, name: string): string | undefined {
  const value = readMember(record, name)
  if (typeof value === 'string') return value === '' ? undefined : value
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined
}

/** A member that may be one of the given words, in any case. Anything else is `undefined`. */
export function readChoice<T extends string>(record: JsonRecord, name: string, choices: readonly T[]): T | undefined {
  const text = readOptionalText(record, name)?.toLowerCase()
  return choices.find((choice) => choice === text)
}

/** A member that may be true or false. Anything else is `undefined`. */
export function readFlag(record: JsonRecord, name: string): boolean | undefined {
  const value = readMember(record, name)
  return typeof value === 'boolean' ? value : undefined
}

/** A member that may be a string or null. A missing one is `undefined`. */
export function readNullableText(record: JsonRecord, name: string): string | null | undefined {
  return readMember(record, name) === null ? null : readOptionalText(record, name)
}

/** A member that may be a timestamp, as ISO 8601 in UTC; one in another zone, or seconds since 1970, is converted. */
export function readTimestamp(record: JsonRecord, name: string): string | undefined {
  const value = readMember(record, name)
  if (typeof value === 'number') return toTimestamp(value * 1000)
  if (typeof value !== 'string') return undefined
  if (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/.test(value)) return value
  // Without a zone it is UTC by the specification, and local time by Date.parse.
  const zoned = /T.*(Z|[+-]\d{2}:?\d{2})$/i.test(value) || !value.includes('T') ? value : `${value}Z`
  return toTimestamp(Date.parse(zoned))
}

const toTimestamp = (ms: number): string | undefined => {
  const at = new Date(ms)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** The id of any record, bare or inside the full object; `undefined` when there is none. */
export function readId(body: unknown): string | undefined {
  return isRecord(body) ? readOptionalText(body, 'id') : undefined
}

/** The result of {@link attachRaw}: the canonical object, and the JSON that the service sent. */
export type WithRaw<T> = T & {
  /** The JSON that the service sent. Not enumerable, so logs, rows and spreads omit it. */
  readonly raw: unknown
}

/** Attaches the JSON that the service sent as `raw`. */
export function attachRaw<T extends object>(canonical: T, raw: unknown): WithRaw<T> {
  return Object.defineProperty(canonical, 'raw', { value: raw, enumerable: false }) as WithRaw<T>
}
