import type { ApprovalRequirement, ApprovalStep } from './approval.ts'
import type { Catalog } from './catalog.ts'
import { type Issue, OutlayError } from './error.ts'
import { type JudgedTransfer, PolicyConditions, type PolicyFacts, type PolicyReading } from './policy-condition.ts'
import { maxListed, PolicyInput } from './policy-input.ts'
import { type NewCounterpartyScope, PolicyPayment } from './policy-payment.ts'
import type { PolicyDay } from './policy-time.ts'
import type { TransferFlow } from './transfer-flow.ts'
import type { TransferTypeName } from './transfer-type.ts'
import type { ValueTypeName } from './value-type.ts'

/** A rule about transfers. It has exactly one of `approvals`, `hold`, `screen` and `refuse`. */
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
  /** Why it is screened before it is sent: it is held until the screener of a worker lets it pass. */
  readonly screen?: string | undefined
  /** Why it is refused. */
  readonly refuse?: string | undefined
}

/** What holds a transfer: `approval` until it is approved, `screening` until the screener lets it pass, the others until somebody releases it. */
export const holdNames = ['approval', 'limit', 'operator', 'screening'] as const

/** Name of a hold. */
export type HoldName = (typeof holdNames)[number]

/** A hold that a policy asks for. */
export interface PolicyHold {
  readonly name: Extract<HoldName, 'approval' | 'limit' | 'screening'>
  readonly policy: string
  readonly why: string
  readonly requirement?: ApprovalRequirement | undefined
}

/** A hold that a policy asks for where a transfer turns out to look like another one before it is sent. */
export interface PolicyWatch extends PolicyHold {
  /** How far apart the two may be enqueued. */
  readonly days: number
}

/** What the policies say about a transfer. */
export type PolicyVerdict =
  | { readonly refusal: { readonly policy: string; readonly why: string } }
  | {
      readonly refusal?: undefined
      /** Sorted by name, then by policy; none for a transfer that may be sent. */
      readonly holds: readonly PolicyHold[]
      /** What is compared again before it is sent; absent where nothing is. */
      readonly watches?: readonly PolicyWatch[] | undefined
    }

/** What one policy asks for. One that refuses releases nothing by itself either, where the transfer is there already. */
function holdOf({ name, approvals, inOrder = false, hold, screen, refuse: refusal = '' }: Policy): PolicyHold {
  if (approvals !== undefined) {
    const why = `The policy ${name} asks for approval.`
    return { name: 'approval', policy: name, why, requirement: { steps: approvals, inOrder } }
  }
  if (screen !== undefined) return { name: 'screening', policy: name, why: screen }
  return { name: 'limit', policy: name, why: hold ?? refusal }
}

/** What a policy says, and behind it in words what of earlier transfers makes it apply. */
function explain(why: string, { when = {} }: Policy, { payment }: PolicyFacts): string {
  const words = PolicyPayment.describe(when, payment)
  if (words === '') return why
  return `${/[.!?]$/.test(why) ? why : `${why}.`} ${words}`
}

/** The policies that would apply if the transfer looked like another one. */
const watchOf = (policies: readonly Policy[], judged: JudgedTransfer, facts: PolicyFacts): readonly PolicyWatch[] =>
  policies.flatMap((policy) => {
    const { lookalike, ...others } = policy.when ?? {}
    if (lookalike === undefined || facts.payment === undefined) return []
    if (!PolicyConditions.matches(others, judged, facts)) return []
    return [{ ...holdOf(policy), days: PolicyPayment.daysOf(lookalike) }]
  })

function judgePolicies(policies: readonly Policy[], transfer: JudgedTransfer, facts: PolicyFacts): PolicyVerdict {
  const judged = PolicyConditions.rename(transfer, facts.catalog)
  const applying = policies.filter(({ when = {} }) => PolicyConditions.matches(when, judged, facts))
  const refusing = applying.find(({ refuse }) => refuse !== undefined)
  if (refusing?.refuse !== undefined)
    return { refusal: { policy: refusing.name, why: explain(refusing.refuse, refusing, facts) } }
  const holds = applying.map((policy) => {
    const hold = holdOf(policy)
    return { ...hold, why: explain(hold.why, policy, facts) }
  })
  const order = ({ name, policy }: PolicyHold) => `${name} ${policy}`
  const sorted = holds.sort((a, b) => (order(a) < order(b) ? -1 : 1))
  const watches = watchOf(
    policies.filter((policy) => !applying.includes(policy)),
    judged,
    facts,
  )
  return watches.length === 0 ? { holds: sorted } : { holds: sorted, watches }
}

/**
 * Says what policies ask for of a transfer: the first refusal, or the holds of all that apply. They are read as stored ones are, so names that
 * are aliases in the catalog of `facts` are those that they stand for. Pure.
 * @throws OutlayError `policy_unknown` for policies with what this release, or the catalog, does not know
 */
export function evaluatePolicies(
  policies: readonly Policy[],
  transfer: JudgedTransfer,
  facts: PolicyFacts,
): PolicyVerdict {
  const read = readStored(policies, facts.catalog)
  if (read.unknown === undefined) return judgePolicies(read.policies, transfer, facts)
  const message = `The policies have what this release, or the catalog, does not know (${read.unknown}), so nothing can be judged by them; update this process, or set policies that it knows.`
  throw new OutlayError('policy_unknown', message)
}

const maxPolicies = 100
const maxSteps = 10
const maxCount = 10

const { refuse, readEach, readMembers, readText, readList } = PolicyInput

const policyMembers = Object.keys({
  ...{ name: true, when: true, approvals: true, inOrder: true, hold: true, screen: true, refuse: true },
} satisfies Record<keyof Policy, true>)
const stepMembers = Object.keys({ count: true, roles: true } satisfies Record<keyof ApprovalStep, true>)

const readStep = (value: unknown, field: string, { isStored }: PolicyReading): ApprovalStep =>
  readMembers(value, stepMembers, field, ({ count, roles }) =>
    readEach<ApprovalStep>({
      count: () =>
        count === undefined || (Number.isInteger(count) && Number(count) >= 1 && Number(count) <= maxCount)
          ? (count as number | undefined)
          : refuse(`${field}.count`, `must be a whole number from 1 to ${maxCount}`),
      roles: () => readList(roles, `${field}.roles`, maxListed, isStored ? readText : readRole),
    }),
  )

/** A role that is spelled with spaces around it would be nobody's. */
function readRole(value: unknown, field: string): string {
  const role = readText(value, field)
  return role === role.trim() ? role : refuse(field, 'must have no spaces around it')
}

const readPolicy = (value: unknown, field: string, reading: PolicyReading): Policy =>
  readMembers(value, policyMembers, field, (given) => {
    const { name, when, approvals, inOrder, hold, screen, refuse: why } = given
    const readWhy = (text: unknown, member: keyof Policy) =>
      text === undefined ? undefined : readText(text, `${field}.${member}`)
    return readEach<{ readonly policy: Policy; readonly isOne: boolean }>({
      policy: () =>
        readEach<Policy>({
          name: () =>
            typeof name === 'string' && /^[a-z0-9_.-]{1,63}$/.test(name)
              ? name
              : refuse(`${field}.name`, 'must be 1 to 63 of a-z, 0-9, "_", "." and "-"'),
          when: () => PolicyConditions.parse(when, `${field}.when`, reading),
          approvals: () => readList(approvals, `${field}.approvals`, maxSteps, (one, at) => readStep(one, at, reading)),
          inOrder: () =>
            inOrder === undefined || (typeof inOrder === 'boolean' && approvals !== undefined)
              ? inOrder
              : refuse(`${field}.inOrder`, 'must be true or false, beside approvals'),
          hold: () => readWhy(hold, 'hold'),
          screen: () => readWhy(screen, 'screen'),
          refuse: () => readWhy(why, 'refuse'),
        }),
      isOne: () =>
        [approvals, hold, screen, why].filter((one) => one !== undefined).length === 1 ||
        refuse(field, 'must have exactly one of approvals, hold, screen and refuse'),
    }).policy
  })

function readAll(value: unknown, reading: PolicyReading): readonly Policy[] {
  if (!Array.isArray(value) || value.length > maxPolicies)
    return refuse('policies', `must be a list of at most ${maxPolicies} policies`)
  return PolicyInput.readNamed(
    value,
    (one, at) => readPolicy(one, String(at), reading),
    (at) => refuse(`${at}.name`, 'is that of another policy'),
  )
}

/** What the members of a policy may be, for a form. */
export interface PolicyChoices {
  /** Those that a transfer can move, or that something that moves is worth. */
  readonly currencies: readonly ValueTypeName[]
  readonly flows: readonly TransferFlow[]
  readonly rails: readonly TransferTypeName[]
  readonly days: readonly PolicyDay[]
  /** IANA names. Others that this process knows are taken, too. */
  readonly zones: readonly string[]
  readonly newCounterparty: readonly NewCounterpartyScope[]
  /** Most days that `lookalike` may ask for. */
  readonly mostDays: number
  /** Most steps of approvals. */
  readonly mostSteps: number
  /** Most approvals of one step. */
  readonly mostApprovals: number
}

const choicesOf = (catalog: Catalog): PolicyChoices => ({
  ...PolicyConditions.choices(catalog),
  mostSteps: maxSteps,
  mostApprovals: maxCount,
})

/** Stored policies as this release and its catalog read them, or a sentence that says what of them is unknown. */
export type StoredPolicies =
  | { readonly policies: readonly Policy[]; readonly unknown?: undefined }
  | { readonly policies?: undefined; readonly unknown: string }

function readStored(stored: unknown, catalog: Catalog): StoredPolicies {
  try {
    // As JSON they have no members that are undefined.
    const json: unknown = JSON.parse(JSON.stringify(stored) ?? 'null')
    return { policies: readAll(json, { catalog, isStored: true }) }
  } catch (error) {
    if (OutlayError.is(error)) return { unknown: error.message }
    throw error
  }
}

const unprepared =
  'needs indexes that this database does not have; run "outlay policies prepare" or engine.policies.prepare() once, as who migrates, and set the policies again'

/** One for each condition about earlier transfers. */
const findUnprepared = (policies: readonly { readonly when?: unknown }[]): readonly Issue[] =>
  policies.flatMap(({ when }, at) =>
    PolicyPayment.asked(when).map((name) => ({
      ...({ field: `${at}.when.${name}`, code: 'invalid_request', message: unprepared } as const),
    })),
  )

/** Rules of policies. */
export const Policy = {
  /**
   * Reads a list of policies, a hundred at most; names of the catalog come out canonical.
   * @throws OutlayError `invalid_request`, `metadata_too_large` with every field that breaks a rule, such as `0.when.amounts.USD.from`
   */
  parseAll: (value: unknown, catalog: Catalog): readonly Policy[] => readAll(value, { catalog, isStored: false }),
  /**
   * Reads stored policies with the names of this catalog: a currency or a rail that was renamed since is the one that has the old name as
   * an alias. Or says in a sentence what this release, with this catalog, does not know of them. A kind or a condition of a later release
   * that is passed over would hold nothing.
   */
  readStored,
  /**
   * The members for which `policies.set` refuses policies, or a draft of them, on a database where `policies.prepare` has not run: each condition about
   * earlier transfers, such as `0.when.lookalike`.
   */
  findUnprepared,
  /** What a form offers for the members of a policy: what `parseAll` takes with this catalog. */
  choices: choicesOf,
  /** What policies ask for of a transfer, once `readStored` has read them. */
  judge: judgePolicies,
} as const
