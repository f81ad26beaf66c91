import { Amount, amountProblem } from './amount.ts'
import type { Catalog } from './catalog.ts'
import type { StoredRequest } from './counterparty.ts'
import { Metadata } from './metadata.ts'
import { maxListed, PolicyInput } from './policy-input.ts'
import { type KnownPayees, paysOneOf, setOf } from './policy-payee.ts'
import {
  type LookalikeCondition,
  type NewCounterpartyScope,
  newCounterpartyScopes,
  type PaymentFacts,
  PolicyPayment,
} from './policy-payment.ts'
import { isAtTime, type PolicyTime, policyDays } from './policy-time.ts'
import { type TransferFlow, transferFlows } from './transfer-flow.ts'
import type { TransferTypeName } from './transfer-type.ts'
import type { ValueType, ValueTypeName } from './value-type.ts'

/** A range of amounts of one currency, as decimal strings. */
export interface AmountRange {
  /** That much or more. */
  readonly from?: string | undefined
  /** Less than that. */
  readonly below?: string | undefined
}

/** What a transfer has to be for a policy to apply: all of it. An absent member does not narrow it. */
export interface PolicyConditions {
  /**
   * By currency. A currency that is worth itself, such as USD, is about all that is worth it; a token is about transfers in which it moves. In which of them
   * the amount is stated makes no difference. An amount that cannot be compared, as of the other side of a quote, matches.
   */
  readonly amounts?: Readonly<Record<string, AmountRange>> | undefined
  /** One of these moves, or what one of them is worth: `USD` is also about USDC. In which currency the amount is stated makes no difference. */
  readonly currencies?: readonly ValueTypeName[] | undefined
  /** What it is, or may be: two value types on one chain, to an address by its id, are a `swap` or a `payout`. */
  readonly flows?: readonly TransferFlow[] | undefined
  /** The transfer type of the source or of the destination is one of these. */
  readonly rails?: readonly TransferTypeName[] | undefined
  readonly accounts?: readonly string[] | undefined
  /**
   * The destination is one of these ids of addresses, or its payee is registered under one. A payee is an account number at a routing number, or
   * an address on a chain; names, transfer types and postal addresses are no part of it. A destination in full also matches where the payee of
   * one of the ids is not known.
   */
  readonly counterparties?: readonly string[] | undefined
  /** True: the destination is given in full, as one that the service does not know yet. False: it is given by its id. */
  readonly counterpartyInFull?: boolean | undefined
  /** The transfer has all of these pairs of metadata. */
  readonly metadata?: Metadata | undefined
  /** The transfer is enqueued then, or may not be sent before a time that is then. */
  readonly time?: PolicyTime | undefined
  /**
   * The payee is new: no transfer to it was completed and not returned, of this `account`, or of any account of the `host`. `engine.policies.prepare()` has to
   * run before.
   */
  readonly newCounterparty?: NewCounterpartyScope | undefined
  /**
   * Another transfer of the account to the payee, of the same amount in the same currency or in one of the same worth, was enqueued in the last days, and has not
   * failed or been canceled; one that it is resubmitted for is none. Where the enqueue cannot see the other one yet, as in a transaction that is still open, it is
   * compared again before it is sent, and held then. `engine.policies.prepare()` has to run before.
   */
  readonly lookalike?: LookalikeCondition | undefined
}

/** A transfer as policies see it. */
export interface JudgedTransfer {
  readonly accountId: string
  readonly request: StoredRequest
  readonly metadata?: Metadata | undefined
  /** ISO 8601; null and absent for at once. */
  readonly notBefore?: string | null | undefined
  /** Digest of who is paid, of a destination in full: `Counterparty.payeeOf`. Without it the payee is not known. */
  readonly payee?: string | undefined
}

/** What policies need to know beside the transfer. */
export interface PolicyFacts {
  readonly now: Date
  /** The flow, or all that it may be where the engine does not know whether an address is one of the service. */
  readonly flow: TransferFlow | readonly TransferFlow[]
  readonly catalog: Catalog
  /** What the engine knows of the payees that it has registered. Default: nothing. */
  readonly payees?: KnownPayees | undefined
  /** What the engine knows of earlier transfers. Default: nothing, and then conditions about these are met. */
  readonly payment?: PaymentFacts | undefined
}

const pegOf = (name: string, catalog: Catalog): string | undefined => catalog.valueType(name)?.peg

/** True when the currency moves, or is what something that moves is worth. */
const isAbout = (currency: string, { source, destination }: StoredRequest, catalog: Catalog): boolean =>
  [source, destination].some(({ valueType }) => valueType === currency || pegOf(valueType, catalog) === currency)

function isWithin(value: string, range: AmountRange): boolean {
  const compare = (bound: string) => Amount.compare({ currency: '', value }, { currency: '', value: bound })
  return (
    (range.from === undefined || compare(range.from) >= 0) && (range.below === undefined || compare(range.below) < 0)
  )
}

/** Value of one peg is worth the same, whatever it is stated in. That of another one, as of the other side of a quote, is not known. */
const hasAmount = (ranges: Readonly<Record<string, AmountRange>>, request: StoredRequest, catalog: Catalog): boolean =>
  Object.entries(ranges).some(([currency, range]) => {
    if (!isAbout(currency, request, catalog)) return false
    const isComparable = pegOf(currency, catalog) === pegOf(request.amount.currency, catalog)
    return !isComparable || isWithin(request.amount.value, range)
  })

const isOneOf = <T>(list: readonly T[] | undefined, ...values: readonly T[]): boolean =>
  list === undefined || values.some((value) => setOf(list).has(value))

type Leg = Pick<StoredRequest['source'], 'valueType' | 'transferType'>

/** A transfer may be stored with the names of an earlier catalog, which are aliases in this one. */
function rename({ amount, source, destination, ...others }: StoredRequest, catalog: Catalog): StoredRequest {
  const value = (name: string) => catalog.valueType(name)?.name ?? name
  const rename = <T extends Leg>(leg: T): T => ({
    ...leg,
    valueType: value(leg.valueType),
    transferType: catalog.transferType(leg.transferType)?.name ?? leg.transferType,
  })
  return {
    ...others,
    amount: { ...amount, currency: value(amount.currency) },
    source: rename(source),
    destination: rename(destination),
  }
}

/** True when a transfer is all that the conditions say. Pure. */
function matches(when: PolicyConditions, transfer: JudgedTransfer, facts: PolicyFacts): boolean {
  const { accountId, request, metadata = {}, notBefore, payee } = transfer
  const { now, flow, catalog, payees } = facts
  const { source, destination } = request
  // Who asks for it at night, and money that leaves at night, are both what a rule about nights is for.
  const moments = [now, ...(notBefore == null ? [] : [new Date(Math.max(now.getTime(), Date.parse(notBefore)))])]
  const { time, counterpartyInFull } = when
  return (
    (when.amounts === undefined || hasAmount(when.amounts, request, catalog)) &&
    (when.currencies === undefined || when.currencies.some((currency) => isAbout(currency, request, catalog))) &&
    isOneOf(when.flows, ...(typeof flow === 'string' ? [flow] : flow)) &&
    isOneOf(when.rails, source.transferType, destination.transferType) &&
    isOneOf(when.accounts, accountId) &&
    (when.counterparties === undefined || paysOneOf(when.counterparties, destination, payee, payees)) &&
    (counterpartyInFull === undefined || counterpartyInFull === (destination.addressId === undefined)) &&
    Object.entries(when.metadata ?? {}).every(
      ([name, value]) => Object.hasOwn(metadata, name) && metadata[name] === value,
    ) &&
    (time === undefined || moments.some((moment) => isAtTime(time, moment))) &&
    PolicyPayment.matches(when, facts.payment, now)
  )
}

const { refuse, readEach, readGiven, readMembers, readText, readId, readList, wordOf, nameOf } = PolicyInput

const membersOf = <T>(members: Readonly<Record<keyof T, true>>): readonly string[] => Object.keys(members)
const rangeMembers = membersOf<AmountRange>({ from: true, below: true })
const timeMembers = membersOf<PolicyTime>({ zone: true, from: true, to: true, days: true })
const conditionMembers = membersOf<PolicyConditions>({
  ...{ amounts: true, currencies: true, flows: true, rails: true, accounts: true },
  ...{ counterparties: true, counterpartyInFull: true, metadata: true, time: true },
  ...{ newCounterparty: true, lookalike: true },
})

/** How conditions are read: as somebody sets them, or as they are stored, where an earlier release has checked less. */
export interface PolicyReading {
  readonly catalog: Catalog
  readonly isStored: boolean
}

/** What a transfer that a currency is about can move. */
const movingOf = (currency: string, { valueTypes, transferTypes, pairs }: Catalog): readonly ValueType[] =>
  valueTypes.filter(
    ({ name, peg }) => (name === currency || peg === currency) && transferTypes.some((rail) => pairs(name, rail.name)),
  )

/** The same; refuses a currency that nothing moves, which would never match. */
function findMoving(currency: string, catalog: Catalog, field: string) {
  const [first, ...others] = movingOf(currency, catalog)
  if (first !== undefined) return [first, ...others] as const
  return refuse(
    field,
    `would never match: no transfer type moves ${currency}, or what is worth it; name one that moves`,
  )
}

function checkBound(value: unknown, field: string, moving: readonly ValueType[]): void {
  const problem = amountProblem(value, Math.max(...moving.map(({ scale }) => scale)))
  if (problem !== undefined) refuse(field, problem.message)
}

const readRange = (given: unknown, at: string, currency: string, reading: PolicyReading): AmountRange =>
  readMembers(given, rangeMembers, at, (bounds) => readBounds(bounds, at, currency, reading))

function readBounds(
  { from, below }: AmountRange,
  at: string,
  currency: string,
  { catalog, isStored }: PolicyReading,
): AmountRange {
  if (from === undefined && below === undefined) refuse(at, 'must have from, below or both, such as { from: "10000" }')
  const moving = isStored ? [] : findMoving(currency, catalog, at)
  const check = (bound: unknown, name: keyof AmountRange) => {
    if (bound === undefined) return
    if (!isStored) checkBound(bound, `${at}.${name}`, moving)
    const problem = amountProblem(bound)
    if (problem !== undefined) refuse(`${at}.${name}`, problem.message)
  }
  readEach({ from: () => check(from, 'from'), below: () => check(below, 'below') })
  if (isStored || below === undefined) return { from, below }
  if (Amount.compare({ currency, value: from ?? '0' }, { currency, value: below }) >= 0)
    refuse(at, `is empty: ${from === undefined ? 'no amount is less than below' : 'from is not less than below'}`)
  return { from, below }
}

function readAmounts(value: unknown, field: string, reading: PolicyReading): PolicyConditions['amounts'] {
  if (value === undefined) return undefined
  const { valueType, valueTypes } = reading.catalog
  const entries = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
  if (entries.length === 0) return refuse(field, 'must be ranges by currency, such as { USD: { from: "10000" } }')
  const seen = new Set<string>()
  const ranges = PolicyInput.readAll(entries, (entry) => {
    const [given, range] = entry as readonly [string, unknown]
    const at = `${field}.${given}`
    const currency = nameOf(valueType, valueTypes)(given, at)
    if (seen.has(currency)) refuse(at, `is ${currency} again`)
    seen.add(currency)
    return [currency, readRange(range, at, currency, reading)] as const
  })
  return Object.fromEntries(ranges)
}

function readCurrencies(value: unknown, field: string, { catalog, isStored }: PolicyReading) {
  const readName = nameOf(catalog.valueType, catalog.valueTypes)
  return readList(value, field, maxListed, (one, at) => {
    const name = readName(one, at)
    if (!isStored) findMoving(name, catalog, at)
    return name
  })
}

const isTime = (value: unknown, last: string): boolean =>
  typeof value === 'string' && (/^([01]\d|2[0-3]):[0-5]\d$/.test(value) || value === last)

function readTime(value: unknown, field: string, isStored: boolean): PolicyTime | undefined {
  if (value === undefined) return undefined
  return readMembers(value, timeMembers, field, ({ zone, from, to, days }) => {
    const readOne = (one: unknown, name: 'from' | 'to') => {
      const [last, such] = name === 'from' ? ['', '18:00'] : ['24:00', '08:00, or 24:00']
      if (one !== undefined && !isTime(one, last)) refuse(`${field}.${name}`, `must be a time such as ${such}`)
      if (name === 'to' && (from ?? '00:00') === (one ?? '24:00'))
        refuse(`${field}.to`, 'is the same as from, so no time is in between')
      return one as string | undefined
    }
    return readEach<PolicyTime>({
      zone: () => (isStored ? readText(zone, `${field}.zone`) : readZone(zone, `${field}.zone`)),
      from: () => readOne(from, 'from'),
      to: () => readOne(to, 'to'),
      days: () => readList(days, `${field}.days`, 7, wordOf(policyDays)),
    })
  })
}

function readZone(zone: unknown, field: string): string {
  try {
    if (typeof zone === 'string' && /^[A-Z]/i.test(zone))
      return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone
  } catch {
    // Refused below.
  }
  return refuse(field, 'must be the IANA name of a time zone, such as Europe/Berlin or UTC')
}

function readConditions(value: unknown, field: string, reading: PolicyReading): PolicyConditions | undefined {
  if (value === undefined) return undefined
  const at = (name: keyof PolicyConditions) => `${field}.${name}`
  const { catalog, isStored } = reading
  const readKnown = isStored ? readText : readId
  return readMembers(value, conditionMembers, field, (given) => {
    const when = given as Readonly<Record<keyof PolicyConditions, unknown>>
    const { counterpartyInFull } = when
    return readGiven<PolicyConditions>(given, field, {
      amounts: () => readAmounts(when.amounts, at('amounts'), reading),
      currencies: () => readCurrencies(when.currencies, at('currencies'), reading),
      flows: () => readList(when.flows, at('flows'), maxListed, wordOf(transferFlows)),
      rails: () => readList(when.rails, at('rails'), maxListed, nameOf(catalog.transferType, catalog.transferTypes)),
      accounts: () => readList(when.accounts, at('accounts'), maxListed, readKnown),
      counterparties: () => readList(when.counterparties, at('counterparties'), maxListed, readKnown),
      counterpartyInFull: () =>
        counterpartyInFull === undefined || typeof counterpartyInFull === 'boolean'
          ? counterpartyInFull
          : refuse(at('counterpartyInFull'), 'must be true or false'),
      metadata: () => Metadata.parse(when.metadata, at('metadata')),
      time: () => readTime(when.time, at('time'), isStored),
      newCounterparty: () => PolicyPayment.readScope(when.newCounterparty, at('newCounterparty')),
      lookalike: () => PolicyPayment.readLookalike(when.lookalike, at('lookalike')),
    })
  })
}

/** What a form offers for the members of conditions. */
const choicesOf = (catalog: Catalog) => ({
  currencies: catalog.valueTypes.flatMap(({ name }) => (movingOf(name, catalog).length === 0 ? [] : [name])),
  flows: transferFlows,
  rails: catalog.transferTypes.map(({ name }) => name),
  days: policyDays,
  zones: [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])],
  newCounterparty: newCounterpartyScopes,
  mostDays: PolicyPayment.longestDays,
})

/** Rules of the conditions of policies. */
export const PolicyConditions = {
  /**
   * Reads conditions; names of the catalog come out canonical.
   * @throws OutlayError `invalid_request`, `metadata_too_large` with the field
   */
  parse: readConditions,
  /** What a form offers for the members of conditions: what `parse` takes. */
  choices: choicesOf,
  /** A transfer with the names of this catalog, whatever it was stored with. */
  rename: (transfer: JudgedTransfer, catalog: Catalog): JudgedTransfer => ({
    ...transfer,
    request: rename(transfer.request, catalog),
  }),
  /** True when a transfer, with names of the catalog, is all that the conditions say. Its lists never change. */
  matches,
} as const
