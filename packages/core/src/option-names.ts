import { OutlayError } from './error.ts'

/**
 * Checks that what a host gives is an object of options and has no others than these: a mistyped one would do nothing, silently.
 * Undefined passes.
 * @throws OutlayError `invalid_request` with the first unknown option
 */
export function checkNames(options: unknown, names: readonly string[], owner = ''): void {
  if (options === undefined) return
  const refuse = (field: string, message: string) =>
    OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
  const there = `there are ${names.join(', ')}`
  if (typeof options !== 'object' || options === null) throw refuse(owner, `must be an object of options; ${there}`)
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown === undefined) return
  throw refuse(owner === '' ? unknown : `${owner}.${unknown}`, `is no option; ${there}`)
}
