import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { OutlayError } from './error.ts'

/** 1 to 255 visible ASCII characters, not in quotes, one per logical action. Specification: "Errors", idempotency. */
export type IdempotencyKey = string

/** The next key after an answer: send again with the same key, or use a new key for a corrected request. */
export type KeyDecision = 'reuse' | 'renew'

/** An answer to a create, as far as it matters here. */
export interface KeyAnswer {
  /** HTTP status; `undefined` when no answer came. */
  readonly status?: number | undefined
  /** Error code of the answer. */
  readonly code?: string | undefined
}

const pattern = /^[\x21-\x7e]{1,255}$/

/** A service that reads the header as a string of RFC 8941 strips the quotes of a key: two keys here would be one key there. */
const isQuoted = (key: string): boolean => key.length > 1 && key.startsWith('"') && key.endsWith('"')

const is = (value: unknown): value is IdempotencyKey =>
  typeof value === 'string' && pattern.test(value) && !isQuoted(value)

const parse = (value: unknown, field = 'idempotencyKey'): IdempotencyKey => {
  if (value === undefined || value === null || value === '') {
    throw OutlayError.fromIssues([{ field, code: 'idempotency_key_missing', message: 'is required' }])
  }
  if (is(value)) return value
  const message = 'must be 1 to 255 visible ASCII characters, not in quotes'
  throw OutlayError.fromIssues([{ field, code: 'idempotency_key_invalid', message }])
}

// A service that answers with these has not judged the request yet, or not for good.
const openStatuses: readonly number[] = [401, 403, 408, 425, 429]
const openCodes: readonly unknown[] = ['insufficient_balance', 'idempotency_key_in_flight']
const refusalsWith409: readonly unknown[] = ['conflict', 'idempotency_key_mismatch']

// The status comes first: an inconclusive status stays inconclusive whatever its code. A refusal without a code may be the page
// of a proxy, which has never seen the key.
const decide = ({ status, code }: KeyAnswer): KeyDecision => {
  if (status === undefined || status < 400 || status >= 500 || openStatuses.includes(status)) return 'reuse'
  if (code === undefined || openCodes.includes(code)) return 'reuse'
  return status === 409 && !refusalsWith409.includes(code) ? 'reuse' : 'renew'
}

/** Rules of idempotency keys. */
export const IdempotencyKey = {
  /** True for 1 to 255 visible ASCII characters that are not in quotes. */
  is,
  /** Reads a key; throws `idempotency_key_missing` or `idempotency_key_invalid`. */
  parse,
  /**
   * What an answer means for the key. Reuse it while the outcome is open or the account lacks funds; renew it when the request
   * itself has to change. A second, intended create uses a new key whatever the answer was.
   */
  decide,
} as const

const canonicalObject = (value: object): string => {
  let text = ''
  for (const key of Object.keys(value).sort()) {
    const inner = (value as Readonly<Record<string, unknown>>)[key]
    if (inner !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(inner)}`
  }
  return `{${text}}`
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

// Data whose members have their order already is what JSON.stringify writes canonically, at a fraction of the time.
const isOrdered = (value: unknown): boolean => {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || Array.isArray(value) || !isPlain(value)) return false
  let last = ''
  for (const key of Object.keys(value)) {
    if (key < last) return false
    last = key
    const inner = (value as Readonly<Record<string, unknown>>)[key]
    if (inner !== undefined && !isOrdered(inner)) return false
  }
  return true
}

/**
 * JSON text that is equal for equal data: keys sorted by code unit, no whitespace, members that are `undefined` left out.
 * Throws Error for what JSON cannot hold exactly: bigint, NaN, Infinity, functions, and objects of a class.
 */
export const canonicalJson = (value: unknown): string => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value)
    case 'number':
      if (Number.isFinite(value)) return JSON.stringify(value)
      break
    case 'object':
      if (value === null) return 'null'
      if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
      if (isPlain(value)) return canonicalObject(value)
  }
  throw new Error(
    `canonicalJson accepts plain JSON data, not ${typeof value === 'object' ? 'an object of a class' : String(value)}`,
  )
}

const encoder = new TextEncoder()

/** SHA-256 of a text in UTF-8, as 64 lower-case hexadecimal digits. */
export type Digest = (text: string) => string

/** The digest of text in JavaScript alone. */
export const pureDigest: Digest = (text) => bytesToHex(sha256(encoder.encode(text)))

/** SHA-256 of the canonical JSON, as 64 lower-case hexadecimal digits: equal for equal data only. Throws what canonicalJson throws. */
export const fingerprint = (value: unknown, digest: Digest = pureDigest): string =>
  digest(isOrdered(value) ? JSON.stringify(value) : canonicalJson(value))
