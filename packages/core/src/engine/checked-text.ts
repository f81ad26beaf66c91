import { OutlayError } from '../error.ts'
import { isStorable } from '../input.ts'

/** Longest text that a command accepts beside ids, in UTF-16 code units. */
const longest = 1_000

/** True for text that can be stored unchanged: not empty, not too long, well-formed and without NUL. */
export const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= longest && isStorable(value)

/** Throws `invalid_request` with the field for what is neither true nor false: a text such as "false" would count as true. */
export function checkFlag(value: unknown, field: string): void {
  if (typeof value === 'boolean') return
  throw OutlayError.fromIssues([{ field, code: 'invalid_request', message: 'must be true or false' }])
}

/** Throws `invalid_request` with the field for what is no such text. Postgres would refuse it, and end the host's transaction. */
export function checkText(value: unknown, field: string): void {
  if (isText(value)) return
  const message = `must be well-formed text of 1 to ${longest} characters without NUL`
  throw OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
}
