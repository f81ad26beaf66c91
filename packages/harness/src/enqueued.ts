import { AssertionError } from 'node:assert'
import type { Amount, Stage, StoredTransfer, TransferDestination, TransferSource, TransferStatus } from '@outlay/core'

/** Selects enqueued transfers. Absent members match all; those of `source` and `destination` match one by one. */
export interface EnqueuedMatch {
  readonly accountId?: string | undefined
  readonly idempotencyKey?: string | undefined
  /** A decimal string, compared as a number, optionally with its currency. */
  readonly amount?: string | Partial<Amount> | undefined
  readonly source?: Partial<TransferSource> | undefined
  readonly destination?: Partial<TransferDestination> | undefined
  readonly note?: string | undefined
  readonly stage?: Stage | undefined
  readonly status?: TransferStatus | undefined
}

/** One member that differs from the wanted value. */
interface Difference {
  readonly member: string
  readonly wanted: unknown
  readonly found: unknown
}

/** The transfers that match. */
export function matchEnqueued(transfers: readonly StoredTransfer[], match: EnqueuedMatch): readonly StoredTransfer[] {
  return transfers.filter((transfer) => findDifferences(transfer, match).length === 0)
}

/** Throws an `AssertionError` of Node unless `count` transfers match. Its message lists the nearest ones and their differences. */
export function assertMatches(
  transfers: readonly StoredTransfer[],
  match: EnqueuedMatch,
  count: number,
): readonly StoredTransfer[] {
  const fitting = matchEnqueued(transfers, match)
  if (fitting.length === count) return fitting
  const wanted = Object.fromEntries(wantedMembers(match))
  throw new AssertionError({
    message: describe(transfers, match, fitting, count),
    actual: nearest(transfers, match).map(({ transfer }) => pick(transfer, Object.keys(wanted))),
    expected: Array.from({ length: count }, () => wanted),
    operator: 'assertEnqueued',
  })
}

const nearestShown = 5

function describe(
  transfers: readonly StoredTransfer[],
  match: EnqueuedMatch,
  fitting: readonly StoredTransfer[],
  count: number,
): string {
  const members = wantedMembers(match).map(([member, wanted]) => `  ${member}: ${JSON.stringify(wanted)}`)
  const head = `${count === 1 ? 'One transfer' : `${count} transfers`} should be enqueued with`
  if (fitting.length > 0) {
    return [head, ...members, `but ${fitting.length} are:`, ...fitting.map(({ id }) => `  ${id}`)].join('\n')
  }
  if (transfers.length === 0) return [head, ...members, 'but nothing is enqueued.'].join('\n')
  const near = nearest(transfers, match).map(({ transfer, differences }) => {
    const lines = differences.map(
      ({ member, wanted, found }) => `    ${member} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`,
    )
    return [`  ${transfer.id} (key ${transfer.idempotencyKey})`, ...lines].join('\n')
  })
  const hidden = transfers.length - near.length
  const rest = hidden > 0 ? [`  and ${hidden} more`] : []
  return [head, ...members, 'but none is. The nearest:', ...near, ...rest].join('\n')
}

function nearest(transfers: readonly StoredTransfer[], match: EnqueuedMatch) {
  return transfers
    .map((transfer) => ({ transfer, differences: findDifferences(transfer, match) }))
    .sort((a, b) => a.differences.length - b.differences.length)
    .slice(0, nearestShown)
}

function findDifferences(transfer: StoredTransfer, match: EnqueuedMatch): readonly Difference[] {
  return wantedMembers(match).flatMap(([member, wanted]) => {
    const found = memberOf(transfer, member)
    const same = member === 'amount.value' ? sameNumber(found, wanted) : found === wanted
    return same ? [] : [{ member, wanted, found }]
  })
}

/** The wanted members, flat: `destination.addressId` and so on. */
function wantedMembers(match: EnqueuedMatch): readonly (readonly [member: string, wanted: unknown])[] {
  const { amount, source, destination, ...plain } = match
  const legs = { amount: typeof amount === 'string' ? { value: amount } : amount, source, destination }
  const nested = Object.entries(legs).flatMap(([leg, members]) =>
    Object.entries(members ?? {}).map(([name, wanted]) => [`${leg}.${name}`, wanted] as const),
  )
  return [...Object.entries(plain), ...nested].filter(([, wanted]) => wanted !== undefined)
}

function memberOf(transfer: StoredTransfer, member: string): unknown {
  const flat: Readonly<Record<string, unknown>> = { ...transfer, ...transfer.request }
  return member
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], flat)
}

function pick(transfer: StoredTransfer, members: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(members.map((member) => [member, memberOf(transfer, member)]))
}

function sameNumber(left: unknown, right: unknown): boolean {
  const normal = (value: unknown) => {
    const text = String(value)
    return text.includes('.') ? text.replace(/\.?0+$/, '') : text
  }
  return normal(left) === normal(right)
}
