import { PolicyInput } from './policy-input.ts'

/** For whom a counterparty is new: for the account that pays, or for all accounts of the host. */
export const newCounterpartyScopes = ['account', 'host'] as const

/** For whom a counterparty is new. */
export type NewCounterpartyScope = (typeof newCounterpartyScopes)[number]

/** When a transfer looks like an earlier one. */
export interface LookalikeCondition {
  /** How many days the earlier one may be back, from 1 to 31. Default 7. A day is 24 hours. */
  readonly days?: number | undefined
}

/** An earlier transfer of the same account to the same payee, of the same amount. */
export interface Lookalike {
  readonly id: string
  /** ISO 8601, UTC: when it was enqueued. */
  readonly at: string
}

/** What is known of the transfers before one. */
export interface PaymentFacts {
  /** True where no transfer of the account to the payee was completed and not returned. */
  readonly isNewToAccount: boolean
  /** The same of all accounts. */
  readonly isNewToHost: boolean
  /** The newest one that it looks like; null where there is none. */
  readonly lookalike: Lookalike | null
}

/** What policies may ask about earlier transfers. */
interface PaymentConditions {
  readonly newCounterparty?: NewCounterpartyScope | undefined
  readonly lookalike?: LookalikeCondition | undefined
}

const dayMs = 86_400_000
const defaultDays = 7
const longestDays = 31

const daysOf = ({ days = defaultDays }: LookalikeCondition): number => days

const isNew = (scope: NewCounterpartyScope, facts: PaymentFacts): boolean =>
  scope === 'account' ? facts.isNewToAccount : facts.isNewToHost

const isRecent = ({ at }: Lookalike, condition: LookalikeCondition, now: Date): boolean =>
  // Not recent only where it is surely older: a time that cannot be read is not.
  !(now.getTime() - Date.parse(at) > daysOf(condition) * dayMs)

/** True where the conditions about earlier transfers are met, or nobody knows. */
function matches(
  { newCounterparty, lookalike }: PaymentConditions,
  facts: PaymentFacts | undefined,
  now: Date,
): boolean {
  if (facts === undefined) return true
  if (newCounterparty !== undefined && !isNew(newCounterparty, facts)) return false
  return lookalike === undefined || (facts.lookalike !== null && isRecent(facts.lookalike, lookalike, now))
}

/** Says in sentences what of earlier transfers makes the conditions true; empty where they ask for nothing of these. */
function describe({ newCounterparty, lookalike }: PaymentConditions, facts: PaymentFacts | undefined): string {
  if (newCounterparty === undefined && lookalike === undefined) return ''
  if (facts === undefined) return 'What was paid before is not known: "outlay policies prepare" has not run here.'
  const sentences: string[] = []
  if (newCounterparty !== undefined) {
    const who = newCounterparty === 'account' ? 'The account has' : 'No account has'
    const never = newCounterparty === 'account' ? 'never completed' : 'ever completed'
    sentences.push(`${who} ${never} a payment to this counterparty.`)
  }
  if (lookalike !== undefined && facts.lookalike !== null) sentences.push(describeLookalike(facts.lookalike))
  return sentences.join(' ')
}

const describeLookalike = ({ id, at }: Lookalike): string =>
  `It looks like the transfer ${id} of ${at}: the account, the counterparty and the amount are the same.`

const asked = (when: unknown): readonly (keyof PaymentConditions)[] => {
  const given = typeof when === 'object' && when !== null ? (when as PaymentConditions) : {}
  return (['newCounterparty', 'lookalike'] as const).filter((name) => given[name] !== undefined)
}

const { refuse, readMembers, wordOf } = PolicyInput

const readScope = (value: unknown, field: string): NewCounterpartyScope | undefined =>
  value === undefined ? undefined : wordOf(newCounterpartyScopes)(value, field)

function readLookalike(value: unknown, field: string): LookalikeCondition | undefined {
  if (value === undefined) return undefined
  return readMembers(value, ['days'], field, ({ days }) => {
    if (days === undefined) return {}
    if (!Number.isInteger(days) || Number(days) < 1 || Number(days) > longestDays)
      return refuse(`${field}.days`, `must be a whole number of days from 1 to ${longestDays}`)
    return { days: Number(days) }
  })
}

/** What policies ask about earlier transfers. */
export const PolicyPayment = {
  /**
   * For whom a counterparty is new, as a policy has it.
   * @throws OutlayError `invalid_request` with the field
   */
  readScope,
  /**
   * When a transfer looks like an earlier one, as a policy has it.
   * @throws OutlayError `invalid_request` with the field
   */
  readLookalike,
  /** True of conditions that ask about earlier transfers. */
  asks: (when: PaymentConditions): boolean => asked(when).length > 0,
  /** Which of the conditions, also of a draft, ask about earlier transfers. */
  asked,
  daysOf,
  /** Most days of `lookalike`. */
  longestDays,
  matches,
  describe,
} as const
