import type { TransferFailure } from '@outlay/core'
import type { Dialect } from '../dialect.ts'
import { isRecord, type JsonRecord, readMember, readOptionalText, readTimestamp } from './json.ts'

const failureTypes = ['rejected', 'returned', 'expired', 'insufficient_balance', 'service_error', 'unknown'] as const

/** True for a text that can be a code, and not a sentence. */
export const isCode = (text: string): boolean => /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(text)

/** Longest detail that is put together from several errors, in characters. */
const longestDetail = 500

/**
 * Reads a failure that is null, a code, a sentence, an object of any known spelling, or an object with a list of `errors`.
 *
 * Where it does not say whether it is retriable, the dialect decides. By the specification it is not. By the public contract it is,
 * unless a bank has returned the payment: there, `complete` or `canceled` often comes after `failed`.
 */
export function decodeFailure(
  failure: unknown,
  updatedAt: string,
  dialect: Dialect = 'specification',
): TransferFailure | null {
  if (typeof failure === 'string' && failure !== '') {
    const code = isCode(failure) ? failure : 'unknown'
    return { type: 'unknown', code, detail: failure, occurredAt: updatedAt, retriable: dialect === 'public' }
  }
  const record = Array.isArray(failure) && failure.length > 0 ? { errors: failure } : failure
  if (!isRecord(record)) return null
  const errors = readErrors(record)
  const achReturn = decodeAchReturn(readMember(record, 'ach_return'))
  const type = readFirst([record], 'type')?.toLowerCase()
  const all = [record, ...errors]
  const others = [readFirst(all, 'reason'), readFirst(all, 'error'), achReturn?.code, readFirst(all, 'type')]
  const code = readFirst(all, 'code') ?? others.find((text) => text !== undefined && isCode(text))
  return {
    type: failureTypes.find((known) => known === type) ?? (achReturn === undefined ? 'unknown' : 'returned'),
    code: code ?? 'unknown',
    detail: describe(record) ?? describeAll(errors) ?? achReturn?.reason ?? code ?? 'unknown',
    occurredAt: readTimestamp(record, 'occurred_at') ?? updatedAt,
    retriable: readRetriable(all) ?? (dialect === 'public' && achReturn === undefined),
    achReturn,
  }
}

/** The failure of a transfer that failed without saying why. */
export const unexplainedFailure = (occurredAt: string, dialect: Dialect): TransferFailure => ({
  type: 'unknown',
  code: 'unknown',
  detail: 'the service gave no reason',
  occurredAt,
  retriable: dialect === 'public',
})

/** Entries of `errors`; a text is a code or a sentence. */
const readErrors = (failure: JsonRecord): readonly JsonRecord[] => {
  const entries = readMember(failure, 'errors')
  if (!Array.isArray(entries)) return []
  return entries
    .map((entry: unknown) =>
      typeof entry === 'string' ? (isCode(entry) ? { code: entry } : { detail: entry }) : entry,
    )
    .filter(isRecord)
}

const readFirst = (records: readonly JsonRecord[], name: string): string | undefined =>
  records.map((record) => readOptionalText(record, name)).find((text) => text !== undefined)

const descriptions = ['detail', 'message', 'description', 'reason', 'title', 'error']

const describe = (record: JsonRecord): string | undefined =>
  descriptions.map((name) => readOptionalText(record, name)).find((text) => text !== undefined)

const describeAll = (errors: readonly JsonRecord[]): string | undefined => {
  const sentences = errors.map(describe).filter((sentence) => sentence !== undefined)
  return sentences.length === 0 ? undefined : sentences.join('; ').slice(0, longestDetail)
}

const readRetriable = (records: readonly JsonRecord[]): boolean | undefined =>
  records.map((record) => readMember(record, 'retriable')).find((value) => typeof value === 'boolean')

const decodeAchReturn = (value: unknown): TransferFailure['achReturn'] => {
  if (!isRecord(value)) return undefined
  const code = readOptionalText(value, 'code')
  if (code === undefined) return undefined
  return {
    code,
    reason: readOptionalText(value, 'reason') ?? code,
    category: readOptionalText(value, 'category') ?? 'unknown',
  }
}
