import type { Accounts } from './authorization/scope.ts'

/** Says which limit holds a transfer, without how much of it is used. */
export const describeLimit = (name: string, span: string) => `It is beyond the limit ${name}, of a ${span}.`

/** True for who may see how much of a limit is used: its sum has other accounts in it unless it is one of each account. */
export const isSumShown = (excess: object, read: Accounts): boolean => {
  const { of } = excess as { readonly of?: { readonly account?: unknown } }
  return read === 'all' || of?.account !== undefined
}

/** A structure of the audit, without sums that have other accounts in them, for who may not read them all. */
export function withoutSums(value: unknown, read: Accounts, depth = 0): unknown {
  if (read === 'all' || typeof value !== 'object' || value === null || depth > 16) return value
  if (Array.isArray(value)) return value.map((one) => withoutSums(one, read, depth + 1))
  const { excess, ...others } = value as { readonly excess?: unknown }
  if (typeof excess === 'object' && excess !== null && !isSumShown(excess, read)) {
    const { limit, span } = excess as { readonly limit?: unknown; readonly span?: unknown }
    return { ...others, why: describeLimit(String(limit), String(span)) }
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutSums(one, read, depth + 1)]))
}
