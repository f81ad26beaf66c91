import { amountProblem } from './amount.ts'
import type { Catalog } from './catalog.ts'
import { OutlayError } from './error.ts'
import { isStorable } from './input.ts'
import { PolicyInput } from './policy-input.ts'

/** How long a limit on sums counts before it starts at nothing again: an hour, a day or a month of the calendar. */
export const limitSpans = ['hour', 'day', 'month'] as const

/** A span of a limit on sums. */
export type LimitSpan = (typeof limitSpans)[number]

/** What may have a sum of its own. */
export const limitKeys = ['account', 'counterparty', 'gateway'] as const

/** Something that may have a sum of its own. */
export type LimitKey = (typeof limitKeys)[number]

/** The most that may leave in a time. What is beyond it is held when a worker is about to send it. */
export interface SumLimit {
  /** Unique: 1 to 63 of a-z, 0-9, "_", "." and "-". */
  readonly name: string
  /**
   * By currency, as decimal strings. A currency that others are worth one of counts them too: `USD` is the sum of what is stated in USD, USDC and whatever else
   * has the peg USD. Any other currency is counted alone.
   */
  readonly most: Readonly<Record<string, string>>
  readonly span: LimitSpan
  /** `UTC`, or the IANA name with its place of the time zone whose hours, days and months these are, such as `Europe/Berlin`. */
  readonly zone: string
  /** Each of these, or each combination of them, has a sum of its own. Default: one sum of the whole host. */
  readonly per?: readonly LimitKey[] | undefined
  /** Counts only transfers of these accounts. Default: all. */
  readonly accounts?: readonly string[] | undefined
  /** Counts only transfers to these ids of addresses, or to another id under which the engine has registered the same payee. Default: all. */
  readonly counterparties?: readonly string[] | undefined
  /** Counts only transfers through these gateways. Default: all. */
  readonly gateways?: readonly string[] | undefined
}

/** One sum that is counted: a limit in one of its currencies. */
export interface CountedSum extends Omit<SumLimit, 'most' | 'per'> {
  readonly currency: string
  /** Amounts in these count. */
  readonly currencies: readonly string[]
  /** One of each of these is worth one of `currency`: an amount that is stated in another one is not known in it. */
  readonly worth: readonly string[]
  readonly most: string
  readonly per: readonly LimitKey[]
}

/** What the members of a limit may be, for a form. */
export interface SumLimitChoices {
  readonly currencies: readonly string[]
  readonly spans: readonly LimitSpan[]
  readonly keys: readonly LimitKey[]
  /** `UTC`, and IANA names with their place. */
  readonly zones: readonly string[]
}

const members = ['name', 'most', 'span', 'zone', 'per', 'accounts', 'counterparties', 'gateways']
const maxLimits = 100
const maxListed = 1_000

const fail = (field: string, message: string): never => {
  throw OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
}

function readList<T extends string>(
  value: unknown,
  field: string,
  read: (one: unknown, field: string) => T,
): readonly T[] | undefined {
  if (value === undefined) return undefined
  // An empty list would count nothing: a limit that is never reached.
  if (!Array.isArray(value) || value.length === 0 || value.length > maxListed)
    return fail(field, `must be a list of 1 to ${maxListed}; leave it out for all`)
  return [...new Set(PolicyInput.readAll(value, (one, at) => read(one, `${field}.${at}`)))].sort()
}

const readText = (value: unknown, field: string): string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= 255 && isStorable(value)
    ? value
    : fail(field, 'must be well-formed text of 1 to 255 characters')

const wordOf =
  <T extends string>(words: readonly T[]) =>
  (value: unknown, field: string): T =>
    words.find((word) => word === value) ?? fail(field, `must be one of ${words.join(', ')}`)

/** Currencies that count where a limit names this one. */
const countedBy = (currency: string, catalog: Catalog): readonly string[] =>
  catalog.valueTypes
    .filter(({ name, peg }) => name === currency || peg === currency)
    .map(({ name }) => name)
    .sort()

/** Currencies of which one is worth one of this one. */
const worthOf = (currency: string, catalog: Catalog): readonly string[] => {
  const peg = catalog.valueType(currency)?.peg
  return catalog.valueTypes.flatMap((one) => (one.peg === peg ? [one.name] : [])).sort()
}

function readMost(value: unknown, field: string, catalog: Catalog): SumLimit['most'] {
  const entries = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
  if (entries.length === 0) return fail(field, 'must be sums by currency, such as { USD: "100000" }')
  const known = catalog.valueTypes.map(({ name }) => name).join(', ')
  const seen: string[] = []
  const sums = PolicyInput.readAll(entries, (entry) => {
    const [given, most] = entry as readonly [string, unknown]
    const at = `${field}.${given}`
    const currency = catalog.valueType(given)?.name ?? fail(at, `must be one of ${known}`)
    const counted = countedBy(currency, catalog)
    const before = seen.find((other) => counted.includes(other) || countedBy(other, catalog).includes(currency))
    if (before !== undefined) fail(at, `is counted together with ${before}; give it a limit of its own`)
    seen.push(currency)
    const problem = amountProblem(most)
    if (problem !== undefined) fail(at, problem.message)
    return [currency, String(most)] as const
  })
  return Object.fromEntries(sums)
}

function readZone(zone: unknown, field: string): string {
  try {
    // Names without a place, such as CET, are fixed offsets to the database and have a summer here, or the other way round.
    if (typeof zone === 'string' && /^(utc$|[a-z]+\/)/i.test(zone)) {
      const known = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone
      // Under the name that was given: which of two names of a zone Node prefers is another one with its next release.
      return known.toLowerCase() === zone.toLowerCase() ? known : zone
    }
  } catch {
    // Refused below.
  }
  return fail(field, 'must be UTC or the IANA name of a time zone with its place, such as Europe/Berlin')
}

const readLimit = (value: unknown, field: string, catalog: Catalog): SumLimit =>
  // A member that is there and undefined, as of a variable that is not set, would make another limit than was meant.
  PolicyInput.readMembers(value, members, field, (given) => {
    const at = (name: keyof SumLimit) => `${field}.${name}`
    const { name, most, span, zone, per, accounts, counterparties, gateways } = given
    return PolicyInput.readGiven<SumLimit>(given, field, {
      name: () =>
        typeof name === 'string' && /^[a-z0-9_.-]{1,63}$/.test(name)
          ? name
          : fail(at('name'), 'must be 1 to 63 of a-z, 0-9, "_", "." and "-"'),
      most: () => readMost(most, at('most'), catalog),
      span: () => wordOf(limitSpans)(span, at('span')),
      zone: () => readZone(zone, at('zone')),
      per: () => readList(per, at('per'), wordOf(limitKeys)),
      accounts: () => readList(accounts, at('accounts'), readText),
      counterparties: () => readList(counterparties, at('counterparties'), readText),
      gateways: () => readList(gateways, at('gateways'), readText),
    })
  })

/** Rules of limits on sums. */
export const SumLimit = {
  /**
   * Reads a list of limits, a hundred at most; currencies come out canonical, and lists sorted.
   * @throws OutlayError `invalid_request` with every field that breaks a rule, such as `0.most.USD`
   */
  parseAll(value: unknown, catalog: Catalog): readonly SumLimit[] {
    if (!Array.isArray(value) || value.length > maxLimits)
      return fail('limits', `must be a list of at most ${maxLimits} limits`)
    return PolicyInput.readNamed(
      value,
      (one, at) => readLimit(one, String(at), catalog),
      (at) => fail(`${at}.name`, 'is that of another limit'),
    )
  },
  /** What a form offers for the members of a limit: what `parseAll` takes with this catalog. */
  choices: ({ valueTypes }: Catalog): SumLimitChoices => ({
    currencies: valueTypes.map(({ name }) => name),
    spans: limitSpans,
    keys: limitKeys,
    zones: ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone.includes('/'))],
  }),
  /** The sums that limits count, one for each currency of each. */
  sums: (limits: readonly SumLimit[], catalog: Catalog): readonly CountedSum[] =>
    limits.flatMap(({ most, per = [], ...limit }) =>
      Object.entries(most).map(([currency, sum]) => ({
        ...limit,
        ...{ per, currency, currencies: countedBy(currency, catalog), worth: worthOf(currency, catalog), most: sum },
      })),
    ),
} as const
