import { toWords } from '../parts/format.tsx'
import type { Tone } from '../parts/status.tsx'

/** The colors of what policies ask for. */
export const consequenceTones = {
  approve: 'busy',
  hold: 'warn',
  screen: 'warn',
  refuse: 'bad',
} as const satisfies Readonly<Record<string, Tone>>

/** A policy as it is stored, or as somebody writes it: then its members may be anything. */
export interface PolicyData {
  readonly name?: unknown
  readonly when?: unknown
  readonly approvals?: unknown
  readonly inOrder?: unknown
  readonly hold?: unknown
  readonly screen?: unknown
  readonly refuse?: unknown
}

/** Names in a sentence: `a`, `a or b`, `a, b or c`. */
function joinNames(names: readonly string[]): string {
  const [last = 'nothing', ...others] = names.toReversed()
  return others.length === 0 ? last : `${others.toReversed().join(', ')} or ${last}`
}

const readList = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [String(value)])

const readMembers = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}

function describeAmounts(value: unknown): string {
  const ranges = Object.entries(readMembers(value)).map(([currency, range]) => {
    const { from, below } = readMembers(range)
    if (from === undefined) return `less than ${String(below ?? '…')} ${currency}`
    return `${String(from)} ${currency} or more${below === undefined ? '' : `, and less than ${String(below)}`}`
  })
  return ranges.length === 0 ? '…' : ranges.join(', or ')
}

/** Days of the week by the names that policies have for them. */
export const dayNames: Readonly<Record<string, string>> = {
  ...{ mon: 'Monday', tue: 'Tuesday', wed: 'Wednesday', thu: 'Thursday', fri: 'Friday' },
  ...{ sat: 'Saturday', sun: 'Sunday' },
}

/** When a transfer is enqueued, or may be sent at the earliest. */
function describeTime(value: unknown): string {
  const { zone, from = '00:00', to = '24:00', days } = readMembers(value)
  const [begin, end] = [String(from), String(to)]
  const isNight = begin > end
  const isWhole = begin === '00:00' && end === '24:00'
  const hours = isWhole ? '' : ` between ${begin} and ${end}${isNight ? ' of the next day' : ''}`
  const on = days === undefined ? '' : ` on ${joinNames(readList(days).map((day) => dayNames[day] ?? day))}`
  // "on Friday between 20:00 and 06:00 of the next day": the night belongs to the day on which it began.
  return `it is enqueued or due${on}${hours === '' && on === '' ? ' on any day' : hours}, ${String(zone)} time`
}

const flowNames: Readonly<Record<string, string>> = {
  ...{ onramp: 'an onramp', offramp: 'an offramp', swap: 'a swap', payout: 'a payout' },
}

const writers: Readonly<Record<string, (value: unknown) => string>> = {
  amounts: (value) => `the amount is ${describeAmounts(value)}`,
  currencies: (value) => `${joinNames(readList(value))} moves`,
  flows: (value) => `it is ${joinNames(readList(value).map((flow) => flowNames[flow] ?? flow))}`,
  rails: (value) => `it goes by ${joinNames(readList(value).map(toWords))}`,
  accounts: (value) => `the account is ${joinNames(readList(value))}`,
  counterparties: (value) => `it pays ${joinNames(readList(value))}`,
  counterpartyInFull: (value) => `the payee is given ${value === true ? 'in full' : 'by the id of its address'}`,
  metadata: (value) => {
    const pairs = Object.entries(readMembers(value)).map(([name, one]) => `“${name}” = “${String(one)}”`)
    return `its metadata has ${pairs.length === 0 ? '…' : pairs.join(' and ')}`
  },
  time: describeTime,
  newCounterparty: (value) =>
    value === 'host' ? 'no account has paid the payee before' : 'the account has not paid the payee before',
  lookalike: (value) => {
    const { days = 7 } = readMembers(value)
    return `it looks like another one of the last ${days === 1 ? 'day' : `${String(days)} days`}`
  },
}

/** Says in words which transfers a policy is about. */
export function describeConditions({ when = {} }: PolicyData): string {
  const parts = Object.entries(readMembers(when)).map(
    ([name, value]) => writers[name]?.(value) ?? `${name}: ${JSON.stringify(value)}`,
  )
  return parts.length === 0 ? 'it is any transfer' : parts.join(', and ')
}

function describeStep(step: unknown): string {
  const { count = 1, roles } = readMembers(step)
  const who = roles === undefined ? 'anybody but who created it' : joinNames(readList(roles))
  return `${String(count)} of ${who}`
}

/** Says in words what a policy asks for. */
export function describeConsequence({ approvals, inOrder, hold, screen, refuse }: PolicyData): {
  readonly kind: 'approve' | 'hold' | 'screen' | 'refuse'
  readonly words: string
} {
  if (refuse !== undefined) return { kind: 'refuse', words: `refuse it: ${String(refuse)}` }
  if (hold !== undefined) return { kind: 'hold', words: `hold it until somebody releases it: ${String(hold)}` }
  if (screen !== undefined) return { kind: 'screen', words: `screen it before it is sent: ${String(screen)}` }
  const steps = Array.isArray(approvals) ? approvals.map(describeStep) : []
  return { kind: 'approve', words: `ask for approval: ${steps.join(inOrder === true ? ', then ' : ', and ')}` }
}
