import type { Issue } from '@outlay/core'
import { hidden, redactFree } from '../redaction.ts'

/** A policy as JSON. */
export type GivenPolicy = Readonly<Record<string, unknown>>

/** What is shown of policies. */
export const viewPolicies = (
  policies: readonly unknown[],
  shownMetadata: ReadonlySet<string>,
): readonly GivenPolicy[] => policies.map((one) => redactFree(one, shownMetadata) as GivenPolicy)

/** Policies with the texts themselves, and the rules that are broken where a hidden text is that of no policy. */
interface Restored {
  readonly policies: readonly GivenPolicy[]
  readonly issues: readonly Issue[]
}

/**
 * Policies that somebody has read, changed and given back, with the texts themselves where they were hidden: those of the policy of the same name in
 * the version that they replace.
 */
export function restoreHidden(
  given: readonly GivenPolicy[],
  replaced: readonly unknown[],
  shownMetadata: ReadonlySet<string>,
): Restored {
  const shown = viewPolicies(replaced, shownMetadata)
  const issues: Issue[] = []
  const policies = given.map((policy, at) => {
    const from = shown.findIndex(({ name }) => name === policy['name'])
    return restore(policy, shown[from], replaced[from], `policies.${at}`, issues) as GivenPolicy
  })
  return { policies, issues }
}

/** The same value, with that of `original` in place of each text that is as `shown` has it. */
function restore(value: unknown, shown: unknown, original: unknown, field: string, issues: Issue[]): unknown {
  if (typeof value === 'string') {
    if (!value.includes(hidden)) return value
    if (value === shown) return original
    const message = `has "${hidden}" in place of what is not shown, and is not the text of this policy in the version that it replaces; write the text itself`
    issues.push({ field, code: 'invalid_request', message })
    return value
  }
  if (typeof value !== 'object' || value === null) return value
  const inside = (one: unknown, name: string | number) =>
    restore(one, member(shown, name), member(original, name), `${field}.${name}`, issues)
  if (Array.isArray(value)) return value.map(inside)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inside(one, name)]))
}

const member = (value: unknown, name: string | number): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string | number, unknown>>)[name]
    : undefined
