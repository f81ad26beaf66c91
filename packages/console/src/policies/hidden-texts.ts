import { OutlayError } from '@outlay/core'
import { hidden, redactFree } from '../redaction.ts'

/** A policy as JSON. */
export type GivenPolicy = Readonly<Record<string, unknown>>

/** What is shown of policies. */
export const viewPolicies = (
  policies: readonly unknown[],
  shownMetadata: ReadonlySet<string>,
): readonly GivenPolicy[] => policies.map((one) => redactFree(one, shownMetadata) as GivenPolicy)

/**
 * Policies that somebody has read, changed and given back, with the texts themselves where they were hidden: those of the policy of the same name in
 * the version that they replace.
 * @throws OutlayError `invalid_request` with the field for a hidden text that is that of no such policy
 */
export function restoreHidden(
  given: readonly GivenPolicy[],
  replaced: readonly unknown[],
  shownMetadata: ReadonlySet<string>,
): readonly GivenPolicy[] {
  const shown = viewPolicies(replaced, shownMetadata)
  return given.map((policy, at) => {
    const from = shown.findIndex(({ name }) => name === policy['name'])
    return restore(policy, shown[from], replaced[from], `policies.${at}`) as GivenPolicy
  })
}

/** The same value, with that of `original` in place of each text that is as `shown` has it. */
function restore(value: unknown, shown: unknown, original: unknown, field: string): unknown {
  if (typeof value === 'string') {
    if (!value.includes(hidden)) return value
    if (value === shown) return original
    const message = `has "${hidden}" in place of what is not shown, and is not the text of this policy in the version that it replaces; write the text itself`
    throw OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value))
    return value.map((one, at) => restore(one, member(shown, at), member(original, at), `${field}.${at}`))
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      restore(one, member(shown, name), member(original, name), `${field}.${name}`),
    ]),
  )
}

const member = (value: unknown, name: string | number): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string | number, unknown>>)[name]
    : undefined
