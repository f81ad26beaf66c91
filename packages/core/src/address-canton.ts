import { OutlayError } from './error.ts'

// 1220 marks a SHA-256 hash of 32 octets. The hint may contain single colons, never the separator.
const pattern = /^(?:[A-Za-z0-9_-]|:(?!:)){1,185}::1220[0-9a-f]{64}$/

/** Reads a Canton party: a hint, `::`, and a fingerprint of `1220` and 64 hexadecimal digits. Throws `invalid_address`. */
export const parseCantonParty = (value: string, field: string): string => {
  if (pattern.test(value)) return value
  throw OutlayError.fromIssues([
    { field, code: 'invalid_address', message: 'must be hint::1220 and 64 hexadecimal digits' },
  ])
}
