import { OutlayError } from '@outlay/core'

/** A JSON object. */
export type Body = Readonly<Record<string, unknown>>

/** Text of at most 255 characters; `undefined` when it is absent or null. */
export function optionalText(body: Body, name: string): string | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string' || value.length > 255) throw refusal(name, 'Send text of at most 255 characters.')
  return value
}

/** The same for a required member. */
export function text(body: Body, name: string): string {
  const value = optionalText(body, name)
  if (value === undefined) throw new OutlayError('missing_field', 'The member is required.', { field: name })
  return value
}

/** Longest reference of a request: it is stored behind the id of its account, in at most 255 characters. */
export const longestReference = 200

/** The reference that a request gives, if any. */
export function readReference(body: Body): string | undefined {
  const reference = optionalText(body, 'reference')
  if (reference === undefined || (reference !== '' && reference.length <= longestReference)) return reference
  throw refusal('reference', `A reference has 1 to ${longestReference} characters.`)
}

/** The decimal string of an amount, given as such or as `{value}`. */
export function amountOf(amount: unknown): string {
  if (typeof amount === 'string') return amount
  if (typeof amount === 'object' && amount !== null && 'value' in amount && typeof amount.value === 'string') {
    return amount.value
  }
  throw new OutlayError('invalid_amount', 'Send a decimal string, or an object with a decimal string as its value.', {
    field: 'amount.value',
  })
}

/** The refusal of one member. */
export function refusal(field: string, message: string): OutlayError {
  return new OutlayError('invalid_request', message, { field })
}
