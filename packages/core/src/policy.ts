import { Amount, amountProblem } from './amount.ts'
import type { ApprovalRequirement, ApprovalStep } from './approval.ts'
import type { Catalog } from './catalog.ts'
import type { StoredRequest } from './counterparty.ts'
import { OutlayError } from './error.ts'
import { isStorable } from './input.ts'
import { Metadata } from './metadata.ts'
import { checkNames } from './option-names.ts'
import { type TransferFlow, transferFlows } from './transfer-flow.ts'

/** Days of the week, as a policy names them. */
export const policyDays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** A day of the week. */
export type PolicyDay = (typeof policyDays)[number]

/** A part of the day, of some days or of all. */
export interface PolicyTime {
  /** IANA name of the time zone, such as `Europe/Berlin`. */
  readonly zone: string
  /** From then on, `HH:MM`. With `to` before `from` it goes over midnight, and belongs to the day on which it began. Default 00:00. */
  readonly from?: string | undefined
  /** Until before then, `HH:MM`, or 24:00. Default 24:00. */
  readonly to?: string | undefined
  /** Default: every day. */
  readonly days?: readonly PolicyDay[] | undefined
}

/** A range of amounts of one currency, as decimal strings. */
export interface AmountRange {
  /** That much or more. */
  readonly from?: string | undefined
  /** Less than that. */
  readonly below?: string | undefined
}

/** What a transfer has to be for a policy to apply: all of it. An absent member does not narrow it. */
export interface PolicyConditions {
  /** By currency. A transfer in a currency that is not named does not match. */
  readonly amounts?: Readonly<Record<string, AmountRange>> | undefined
  /** The currency of the amount is one of these. */
  readonly currencies?: readonly string[] | undefined
  readonly flows?: readonly TransferFlow[] | undefined
  /** The transfer type of the source or of the destination is one of these. */
  readonly rails?: readonly string[] | undefined
  readonly accounts?: readonly string[] | undefined
  /** The destination is one of these ids of addresses. */
  readonly counterparties?: readonly string[] | undefined
  /** True: the destination is given in full, as one that the service does not know yet. False: it is given by its id. */
  readonly counterpartyInFull?: boolean | undefined
  /** The transfer has all of these pairs of metadata. */
  readonly metadata?: Metadata | undefined
  /** The transfer is enqueued then. */
  readonly time?: PolicyTime | undefined
}

/** A rule about transfers. It has exactly one of `approvals`, `hold` and `refuse`. */
export interface Policy {
  /** Unique: 1 to 63 of a-z, 0-9, "_", "." and "-". */
  readonly name: string
  /** Default: every transfer. */
  readonly when?: PolicyConditions | undefined
  /** People who have to approve it before it is sent, none of them the one who created it. From 1 to 10 steps. */
  readonly approvals?: readonly ApprovalStep[] | undefined
  /** True: a step of `approvals` opens when those before it are done. Default: in any order. */
  readonly inOrder?: boolean | undefined
  /** Why it is held until somebody releases it. */
  readonly hold?: string | undefined
  /** Why it is refused. */
  readonly refuse?: string | undefined
}

/** What holds a transfer: `approval` until it is approved, the others until somebody releases it. */
export const holdNames = ['approval', 'limit', 'operator', 'screening'] as const

/** Name of a hold. */
export type HoldName = (typeof holdNames)[number]

/** A hold that a policy asks for. */
export interface PolicyHold {
  readonly name: Extract<HoldName, 'approval' | 'limit'>
  readonly policy: string
  readonly why: string
  readonly requirement?: ApprovalRequirement | undefined
}

/** What the policies say about a transfer. */
export type PolicyVerdict =
  | { readonly refusal: { readonly policy: string; readonly why: string } }
  /** Sorted by name, then by policy; none for a transfer that may be sent. */
  | { readonly refusal?: undefined; readonly holds: readonly PolicyHold[] }

/** A transfer as policies see it. */
export interface JudgedTransfer {
  readonly accountId: string
  readonly request: StoredRequest
  readonly metadata?: Metadata | undefined
}

/** What policies need to know beside the transfer. */
export interface PolicyFacts {
  readonly now: Date
  readonly flow: TransferFlow
}

const isWithin = ({ currency, value }: Amount, range: AmountRange | undefined): boolean => {
  if (range === undefined) return false
  const compare = (bound: string) => Amount.compare({ currency, value }, { currency, value: bound })
  return (
    (range.from === undefined || compare(range.from) >= 0) && (range.below === undefined || compare(range.below) < 0)
  )
}

const minutesOf = (time: string): number => {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return hours * 60 + minutes
}

/** Making one takes longer than all else that is judged. */
const clocks = new Map<string, Intl.DateTimeFormat>()

/** Undefined for a zone that this process does not know: another one has checked it. */
function clockOf(zone: string): Intl.DateTimeFormat | undefined {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  try {
    const clock = new Intl.DateTimeFormat('en-GB', {
      ...{ timeZone: zone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
    })
    clocks.set(zone, clock)
    return clock
  } catch {
    return undefined
  }
}

function isAtTime({ zone, from = '00:00', to = '24:00', days = policyDays }: PolicyTime, now: Date): boolean {
  const clock = clockOf(zone)
  if (clock === undefined) return true
  const parts = clock.formatToParts(now)
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? ''
  const day = policyDays.indexOf(part('weekday').toLowerCase() as PolicyDay)
  const minute = minutesOf(`${part('hour')}:${part('minute')}`)
  const isOn = (at: number) => days.includes(policyDays[(at + 7) % 7] as PolicyDay)
  const [begin, end] = [minutesOf(from), minutesOf(to)]
  if (begin <= end) return isOn(day) && minute >= begin && minute < end
  return (isOn(day) && minute >= begin) || (isOn(day - 1) && minute < end)
}

const isOneOf = <T>(list: readonly T[] | undefined, ...values: readonly (T | undefined)[]): boolean =>
  list === undefined || values.some((value) => value !== undefined && list.includes(value))

function applies(when: PolicyConditions, transfer: JudgedTransfer, { now, flow }: PolicyFacts): boolean {
  const { accountId, request, metadata = {} } = transfer
  const { amount, source, destination } = request
  return (
    (when.amounts === undefined ||
      isWithin(amount, Object.hasOwn(when.amounts, amount.currency) ? when.amounts[amount.currency] : undefined)) &&
    isOneOf(when.currencies, amount.currency) &&
    isOneOf(when.flows, flow) &&
    isOneOf(when.rails, source.transferType, destination.transferType) &&
    isOneOf(when.accounts, accountId) &&
    isOneOf(when.counterparties, destination.addressId) &&
    (when.counterpartyInFull === undefined || when.counterpartyInFull === (destination.addressId === undefined)) &&
    Object.entries(when.metadata ?? {}).every(([name, value]) => metadata[name] === value) &&
    (when.time === undefined || isAtTime(when.time, now))
  )
}

/** What one policy asks for; undefined for a refusal. */
function holdOf({ name, approvals, inOrder = false, hold }: Policy): PolicyHold | undefined {
  if (approvals !== undefined) {
    const why = `The policy ${name} asks for approval.`
    return { name: 'approval', policy: name, why, requirement: { steps: approvals, inOrder } }
  }
  return hold === undefined ? undefined : { name: 'limit', policy: name, why: hold }
}

/** Says what policies ask for of a transfer: the first refusal, or the holds of all that apply. Pure. */
export function evaluatePolicies(
  policies: readonly Policy[],
  transfer: JudgedTransfer,
  facts: PolicyFacts,
): PolicyVerdict {
  const applying = policies.filter(({ when = {} }) => applies(when, transfer, facts))
  const refusing = applying.find(({ refuse }) => refuse !== undefined)
  if (refusing?.refuse !== undefined) return { refusal: { policy: refusing.name, why: refusing.refuse } }
  const holds = applying.flatMap((policy) => holdOf(policy) ?? [])
  const order = ({ name, policy }: PolicyHold) => `${name} ${policy}`
  return { holds: holds.sort((a, b) => (order(a) < order(b) ? -1 : 1)) }
}

const rangeMembers = Object.keys({ from: true, below: true } satisfies Record<keyof AmountRange, true>)
const timeMembers = Object.keys({ zone: true, from: true, to: true, days: true } satisfies Record<
  keyof PolicyTime,
  true
>)
const maxPolicies = 100
const maxSteps = 10
const maxCount = 10
const maxListed = 1_000

const fail = (field: string, message: string): never => {
  throw OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
}

const readText = (value: unknown, field: string): string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= 255 && isStorable(value)
    ? value
    : fail(field, 'must be well-formed text of 1 to 255 characters')

function readList<T>(value: unknown, field: string, most: number, read: (one: unknown, field: string) => T) {
  if (value === undefined) return undefined
  // An empty list would match nothing: a rule that is never applied.
  if (!Array.isArray(value) || value.length === 0 || value.length > most)
    return fail(field, `must be a list of 1 to ${most}; leave it out for any`)
  return value.map((one, at) => read(one, `${field}.${at}`))
}

const wordOf =
  <T extends string>(words: readonly T[]) =>
  (value: unknown, field: string): T =>
    words.find((word) => word === value) ?? fail(field, `must be one of ${words.join(', ')}`)

/** Canonical names: a policy that names a currency otherwise than requests do would never apply. */
const nameOf =
  (find: (name: string) => { readonly name: string } | undefined, known: readonly { readonly name: string }[]) =>
  (value: unknown, field: string): string =>
    (typeof value === 'string' ? find(value)?.name : undefined) ??
    fail(field, `must be one of ${known.map(({ name }) => name).join(', ')}`)

function readAmounts(value: unknown, field: string, catalog: Catalog): PolicyConditions['amounts'] {
  if (value === undefined) return undefined
  const entries = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
  if (entries.length === 0) return fail(field, 'must be ranges by currency, such as { USD: { from: "10000" } }')
  const ranges = new Map<string, AmountRange>()
  for (const [given, range] of entries) {
    const at = `${field}.${given}`
    const currency = nameOf(catalog.valueType, catalog.valueTypes)(given, at)
    if (ranges.has(currency)) fail(at, `is ${currency} again`)
    checkNames(range, rangeMembers, at)
    const { from, below } = range as AmountRange
    if (from === undefined && below === undefined) fail(at, 'must have from, below or both')
    for (const [name, bound] of Object.entries({ from, below })) {
      const problem = bound === undefined ? undefined : amountProblem(bound)
      if (problem !== undefined) fail(`${at}.${name}`, problem.message)
    }
    if (from !== undefined && below !== undefined) {
      if (Amount.compare({ currency, value: from }, { currency, value: below }) >= 0)
        fail(at, 'is empty: from is not less than below')
    }
    ranges.set(currency, { from, below })
  }
  return Object.fromEntries(ranges)
}

const isTime = (value: unknown, last: string): boolean =>
  typeof value === 'string' && (/^([01]\d|2[0-3]):[0-5]\d$/.test(value) || value === last)

function readTime(value: unknown, field: string): PolicyTime | undefined {
  if (value === undefined) return undefined
  checkNames(value, timeMembers, field)
  const { zone, from, to, days } = value as Record<keyof PolicyTime, unknown>
  if (from !== undefined && !isTime(from, '')) fail(`${field}.from`, 'must be a time such as 18:00')
  if (to !== undefined && !isTime(to, '24:00')) fail(`${field}.to`, 'must be a time such as 08:00, or 24:00')
  if ((from ?? '00:00') === (to ?? '24:00')) fail(`${field}.to`, 'is the same as from, so no time is in between')
  return {
    zone: readZone(zone, `${field}.zone`),
    from: from as string | undefined,
    to: to as string | undefined,
    days: readList(days, `${field}.days`, 7, wordOf(policyDays)),
  }
}

function readZone(zone: unknown, field: string): string {
  try {
    if (typeof zone === 'string' && /^[A-Z]/i.test(zone))
      return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone
  } catch {
    // Refused below.
  }
  return fail(field, 'must be the IANA name of a time zone, such as Europe/Berlin or UTC')
}

const conditionNames = [
  ...[
    'amounts',
    'currencies',
    'flows',
    'rails',
    'accounts',
    'counterparties',
    'counterpartyInFull',
    'metadata',
    'time',
  ],
]

function readConditions(value: unknown, field: string, catalog: Catalog): PolicyConditions | undefined {
  if (value === undefined) return undefined
  checkNames(value, conditionNames, field)
  const when = value as Readonly<Record<keyof PolicyConditions, unknown>>
  const at = (name: keyof PolicyConditions) => `${field}.${name}`
  const { counterpartyInFull } = when
  if (counterpartyInFull !== undefined && typeof counterpartyInFull !== 'boolean')
    fail(at('counterpartyInFull'), 'must be true or false')
  const conditions: PolicyConditions = {
    amounts: readAmounts(when.amounts, at('amounts'), catalog),
    currencies: readList(when.currencies, at('currencies'), maxListed, nameOf(catalog.valueType, catalog.valueTypes)),
    flows: readList(when.flows, at('flows'), maxListed, wordOf(transferFlows)),
    rails: readList(when.rails, at('rails'), maxListed, nameOf(catalog.transferType, catalog.transferTypes)),
    accounts: readList(when.accounts, at('accounts'), maxListed, readText),
    counterparties: readList(when.counterparties, at('counterparties'), maxListed, readText),
    counterpartyInFull: counterpartyInFull as boolean | undefined,
    metadata: Metadata.parse(when.metadata, at('metadata')),
    time: readTime(when.time, at('time')),
  }
  // A member that is there and undefined, as of a variable that is not set, would widen the policy to every transfer.
  const forgotten = Object.keys(when).find((name) => conditions[name as keyof PolicyConditions] === undefined)
  return forgotten === undefined ? conditions : fail(`${field}.${forgotten}`, 'is empty; leave it out for any')
}

function readStep(value: unknown, field: string): ApprovalStep {
  if (value === undefined) fail(field, 'must be a step, such as { count: 2, roles: ["finance"] }')
  checkNames(value, ['count', 'roles'], field)
  const { count, roles } = value as ApprovalStep
  if (count !== undefined && !(Number.isInteger(count) && count >= 1 && count <= maxCount))
    fail(`${field}.count`, `must be a whole number from 1 to ${maxCount}`)
  return { count, roles: readList(roles, `${field}.roles`, maxListed, readText) }
}

function readPolicy(value: unknown, field: string, catalog: Catalog): Policy {
  if (typeof value !== 'object' || value === null) return fail(field, 'must be a policy, an object')
  checkNames(value, ['name', 'when', 'approvals', 'inOrder', 'hold', 'refuse'], field)
  const { name, when, approvals, inOrder, hold, refuse } = value as Readonly<Record<keyof Policy, unknown>>
  if (typeof name !== 'string' || !/^[a-z0-9_.-]{1,63}$/.test(name))
    return fail(`${field}.name`, 'must be 1 to 63 of a-z, 0-9, "_", "." and "-"')
  if ([approvals, hold, refuse].filter((one) => one !== undefined).length !== 1)
    return fail(field, 'must have exactly one of approvals, hold and refuse')
  if (inOrder !== undefined && (typeof inOrder !== 'boolean' || approvals === undefined))
    return fail(`${field}.inOrder`, 'must be true or false, beside approvals')
  return {
    name,
    when: readConditions(when, `${field}.when`, catalog),
    approvals: readList(approvals, `${field}.approvals`, maxSteps, readStep),
    inOrder,
    hold: hold === undefined ? undefined : readText(hold, `${field}.hold`),
    refuse: refuse === undefined ? undefined : readText(refuse, `${field}.refuse`),
  }
}

/** Rules of policies. */
export const Policy = {
  /**
   * Reads a list of policies, a hundred at most; names of the catalog come out canonical.
   * @throws OutlayError `invalid_request` with the field, such as `0.when.amounts.USD.from`
   */
  parseAll(value: unknown, catalog: Catalog): readonly Policy[] {
    if (!Array.isArray(value) || value.length > maxPolicies)
      return fail('policies', `must be a list of at most ${maxPolicies} policies`)
    const policies = value.map((one, at) => readPolicy(one, String(at), catalog))
    const again = policies.findIndex(({ name }, at) => policies.findIndex((one) => one.name === name) < at)
    return again === -1 ? policies : fail(`${again}.name`, 'is that of another policy')
  },
} as const
