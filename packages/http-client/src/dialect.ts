import { OutlayError } from '@outlay/core'

/** Contracts that a service may speak. */
const dialects = ['specification', 'public'] as const

/**
 * The contract that requests follow where one request cannot satisfy both: the specification, or the public contract of services of
 * this kind. Answers of both are read whatever the dialect is.
 */
export type Dialect = (typeof dialects)[number]

/**
 * Reads the option `dialect`. Without it, the specification.
 *
 * @throws OutlayError `invalid_request` for another word
 */
export function readDialect(value: unknown): Dialect {
  if (value === undefined) return 'specification'
  const dialect = dialects.find((known) => known === value)
  if (dialect !== undefined) return dialect
  throw new OutlayError('invalid_request', `dialect: must be ${dialects.join(' or ')}`, { field: 'dialect' })
}
