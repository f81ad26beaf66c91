import { OutlayError } from './error.ts'
import { isStorable } from './input.ts'
import { Limits } from './limits.ts'

/** What a host notes beside a transfer: pairs of text. Nothing of it moves money, and it is sent only where a gateway maps it. */
export type Metadata = Readonly<Record<string, string>>

/** Characters as people count them: an emoji is one. */
const isLonger = (text: string, max: number): boolean => text.length > max && [...text].length > max

const fail = (field: string, code: 'invalid_request' | 'metadata_too_large', message: string): never => {
  throw OutlayError.fromIssues([{ field, code, message }])
}

const checkName = (name: string, field: string): void => {
  if (name === '' || !isStorable(name)) fail(field, 'invalid_request', 'has a key that is empty or no well-formed text')
  if (isLonger(name, Limits.metadataNameCharacters)) {
    fail(field, 'metadata_too_large', `has a key of more than ${Limits.metadataNameCharacters} characters`)
  }
}

const checkValue = (value: unknown, field: string): string => {
  if (typeof value !== 'string' || !isStorable(value)) {
    return fail(field, 'invalid_request', 'must be well-formed text without NUL; write String(…) of anything else')
  }
  if (!isLonger(value, Limits.metadataValueCharacters)) return value
  return fail(field, 'metadata_too_large', `must be at most ${Limits.metadataValueCharacters} characters`)
}

const parse = (value: unknown, field = 'metadata'): Metadata | undefined => {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object' || Array.isArray(value))
    return fail(field, 'invalid_request', 'must be an object of texts')
  const pairs = Object.entries(value).filter(([, one]) => one !== undefined)
  if (pairs.length > Limits.metadataPairs) {
    fail(field, 'metadata_too_large', `has ${pairs.length} pairs; there may be ${Limits.metadataPairs}`)
  }
  if (pairs.length === 0) return undefined
  for (const [name] of pairs) checkName(name, field)
  return Object.fromEntries(pairs.map(([name, one]) => [name, checkValue(one, `${field}.${name}`)]))
}

/** Rules of metadata. */
export const Metadata = {
  /**
   * Reads metadata; `undefined` where there are none, or no pairs. Pairs whose value is undefined are left out.
   * @throws OutlayError `invalid_request` for what is no text, `metadata_too_large` beyond the limits, with the field
   */
  parse,
} as const
