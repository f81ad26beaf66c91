import type { StoredRequest } from './counterparty.ts'

/** Which ids of addresses that policies name are of the payees of some transfers. */
export interface KnownPayees {
  /** Ids under which the payee of an address is registered too, by the id of that address. */
  readonly byAddressId: ReadonlyMap<string, readonly string[]>
  /** Ids under which details are registered, by their fingerprint. */
  readonly byFingerprint: ReadonlyMap<string, readonly string[]>
  /** Ids under which a payee is registered, by its digest. */
  readonly byPayee: ReadonlyMap<string, readonly string[]>
  /** Ids that policies name and whose payee is not known, as of those that were registered elsewhere. */
  readonly unknown: ReadonlySet<string>
}

const sets = new WeakMap<readonly unknown[], ReadonlySet<unknown>>()

/** The entries of a list that never changes, to look up one of a thousand. */
export function setOf<T>(list: readonly T[]): ReadonlySet<T> {
  const known = sets.get(list)
  if (known !== undefined) return known as ReadonlySet<T>
  const set = new Set(list)
  sets.set(list, set)
  return set
}

const comparisons = new WeakMap<KnownPayees, Map<readonly string[], boolean>>()

/** False where one of the ids may be that of any payee. The answer is one for all transfers. */
function areKnown(ids: readonly string[], payees: KnownPayees | undefined): boolean {
  if (payees === undefined) return false
  if (payees.unknown.size === 0) return true
  const answers = comparisons.get(payees) ?? new Map<readonly string[], boolean>()
  comparisons.set(payees, answers)
  const answer = answers.get(ids) ?? !ids.some((id) => payees.unknown.has(id))
  answers.set(ids, answer)
  return answer
}

/**
 * True when a destination is one of these ids, or its payee is registered under one. A destination in full may be that of an id whose payee
 * is not known.
 */
export function paysOneOf(
  ids: readonly string[],
  { addressId, address }: StoredRequest['destination'],
  payee: string | undefined,
  payees: KnownPayees | undefined,
): boolean {
  const named = setOf(ids)
  const has = (others: readonly string[] = []) => others.some((id) => named.has(id))
  if (addressId !== undefined && (named.has(addressId) || has(payees?.byAddressId.get(addressId)))) return true
  if (address === undefined) return false
  if (has(payees?.byFingerprint.get(address.fingerprint))) return true
  if (payee !== undefined && has(payees?.byPayee.get(payee))) return true
  return addressId === undefined && (payee === undefined || !areKnown(ids, payees))
}
