import { type Case, type Create, endOf, isFinal, leastOf, type Payout, readJson, type Violation } from './case.ts'
import { units } from './decimal.ts'
import type { Asked, Effect, Exchange, HostLine, Intent, Notice } from './history.ts'

/**
 * Reliability: "A transfer exists exactly when the host's transaction committed", "each payout still has one effect".
 * Compares what hosts committed with what the service did, payout by payout.
 */
export function judgeEffects(at: Case): readonly Violation[] {
  const registrations = readRegistrations(at.history.exchanges)
  return [...at.payouts.flatMap((payout) => judgeOne(at, payout, registrations)), ...judgeRepeats(at)]
}

/** True when money moved, or may still move. */
const isLive = (effect: Effect): boolean => effect.status === 'complete' || !isFinal(effect)

function judgeOne(at: Case, payout: Payout, registrations: Registrations): readonly Violation[] {
  const { reference, intents, effects, withdrawn, promised } = payout
  const found: Violation[] = []
  const add = (rule: string, what: string, ...evidence: unknown[]) =>
    void found.push({ rule, payout: reference, what, evidence })
  const [first] = intents
  if (first === undefined) {
    const why = withdrawn ? 'its transaction was rolled back' : 'no committed row of a host asks for it'
    for (const effect of effects) add('effect_without_intent', `${effect.id} is at the service, and ${why}`, effect)
    if (promised) add('lost', 'its commit was answered, and its row is gone')
    return found
  }
  if (withdrawn && !promised && at.history.run.atRest) add('rolled_back_and_there', 'it was rolled back', ...intents)
  for (const effect of effects) {
    const differences = leastOf(intents.map((intent) => compareEffect(effect, intent, registrations)))
    const wrong = differences.filter((one) => one !== 'amount' || !at.paidOtherwise.has(effect.id))
    if (wrong.length > 0) add('wrong_effect', `${effect.id} differs: ${wrong.join(', ')}`, first, effect)
  }
  const live = effects.filter(isLive)
  if (effects.length > intents.length || live.length > 1)
    add(
      'twice',
      `${intents.length} intents, ${effects.length} transfers at the service, ${live.length} of them live`,
      ...effects,
    )
  for (const intent of intents) found.push(...judgeIntent(at, payout, intent))
  return found
}

/** The effect of an intent: the one that its notices name, else one that no other intent's notices name. */
function effectOf({ intents, effects, notices }: Payout, intent: Intent): Effect | undefined {
  const named = (id: string) => new Set((notices.get(id) ?? []).map(({ remote }) => remote))
  const own = named(intent.id)
  const others = intents.filter(({ id }) => id !== intent.id).map(({ id }) => named(id))
  return effects.find(({ id }) => own.has(id)) ?? effects.find(({ id }) => !others.some((names) => names.has(id)))
}

function judgeIntent(at: Case, payout: Payout, intent: Intent): readonly Violation[] {
  const { reference, creates } = payout
  const notices = payout.notices.get(intent.id) ?? []
  const say = (rule: string, what: string, ...evidence: unknown[]): readonly Violation[] => [
    { rule, payout: reference, what, evidence: [intent, ...evidence] },
  ]
  const effect = effectOf(payout, intent)
  const end = endOf(notices)
  if (end === undefined) {
    if (effect === undefined) {
      const reason = openReason(at, intent, creates, notices)
      return reason !== undefined
        ? []
        : say('lost', 'it has no effect and no end, and waits for nothing', ...creates.slice(-2))
    }
    if (!at.history.run.atRest || awaitsDecision(notices)) return []
    return isFinal(effect)
      ? say('not_notified', `${effect.id} is ${effect.status}, and the host was never notified`, effect, ...notices)
      : say('stuck', `${effect.id} is still ${effect.status}`, effect)
  }
  if (end.type === 'transfer.completed') {
    if (effect?.status === 'complete' && (end.remote === null || end.remote === effect.id)) return []
    return say('completed_without_effect', `the host got ${end.type}, and no such effect is complete`, end, effect)
  }
  if (effect !== undefined && isLive(effect))
    return say('ended_and_moved', `the host got ${end.type}, and ${effect.id} is ${effect.status}`, end, effect)
  return effect === undefined ? judgeGuess(at, payout, intent, end, say) : []
}

/** Reliability: what stayed unknown for too long waits for a person, who was notified. Only the engine knows what reached it. */
const awaitsDecision = (notices: readonly Notice[]): boolean =>
  notices.findLast(({ type }) => type.startsWith('transfer.'))?.type === 'transfer.blocked'

/** Reliability: "an outcome that is not known is never guessed". If a payout has no effect, something must prove it. */
function judgeGuess(
  { history, travelled }: Case,
  { creates }: Payout,
  { account, expiresAt, at, destination }: Intent,
  end: Notice,
  say: (rule: string, what: string, ...evidence: unknown[]) => readonly Violation[],
): readonly Violation[] {
  const before = creates.filter((create) => create.at <= end.at)
  // A final refusal is kept under its key; one for lack of funds only says that nothing had happened by then.
  const isForGood = (create: Create) => decides(create) && codeOf(create) !== 'insufficient_balance'
  if (before.some(isForGood)) return []
  const open = before.slice(before.findLastIndex(decides) + 1).find(isUnknown)
  if (open !== undefined) return say('guessed', `the host got ${end.type} while an attempt was unanswered`, open, end)
  if (end.type === 'transfer.canceled') return []
  if (expiresAt !== undefined && end.at + travelled(end.at) >= Date.parse(expiresAt) + travelled(at)) return []
  const isOfAccount = ({ method, path }: Exchange) =>
    method === 'POST' && path.startsWith(`/accounts/${account}/addresses/external`)
  const refused = history.exchanges.some((exchange) => isOfAccount(exchange) && decides(exchange))
  if (destination.payee !== undefined && refused) return []
  return say('failed_without_refusal', 'the host got a failure, and nothing refused it', end, ...before)
}

/** Its outcome is unknown. Specification, "Errors": 5xx; besides, no answer, and an unreadable one. */
export const isUnknown = ({ end, status = 0, answer }: Exchange): boolean =>
  end === 'unanswered' ||
  (end === 'answered' && (status >= 500 || status === 408 || status === 409 || !isReadable(status, answer)))

/** It decides the outcome of its key, and of every earlier request with it. 401, 403 and 429 say nothing about the key. */
const decides = (exchange: Exchange): boolean =>
  exchange.end === 'answered' && !isUnknown(exchange) && ![401, 403, 429].includes(exchange.status ?? 0)

const codeOf = ({ answer }: Exchange): unknown => readJson(answer)['code']

const isReadable = (status: number, answer: string | undefined): boolean =>
  status === 429 || status === 401 || status === 403 || 'code' in readJson(answer) || 'id' in readJson(answer)

/** Why an intent may have no effect and no end: the reason that it waits for, or `undefined`. */
function openReason(
  at: Case,
  intent: Intent,
  creates: readonly Create[],
  notices: readonly Notice[],
): string | undefined {
  const { run, host } = at.history
  if (!run.atRest) return 'the run was cut short'
  if (awaitsDecision(notices)) return 'blocked'
  const last = creates.at(-1)
  if (last !== undefined && codeOf(last) === 'insufficient_balance') return 'awaiting funds'
  const due = intent.notBefore === undefined ? 0 : Date.parse(intent.notBefore) + at.travelled(intent.at)
  if (due > run.endedAt + at.travelled(run.endedAt)) return 'scheduled'
  const isMark = (line: HostLine) => (line.kind === 'unwell' || line.kind === 'well') && line.account === intent.account
  const mark = host.findLast(isMark)
  return mark?.kind === 'unwell' ? mark.why : undefined
}

/** Reliability: one transfer is made again once, unless somebody explicitly asks for more. */
function judgeRepeats({ history }: Case): readonly Violation[] {
  const again = history.host.filter((line) => line.kind === 'intent').filter(({ repeats }) => repeats !== undefined)
  return [...Map.groupBy(again, ({ repeats }) => repeats)].flatMap(([, intents]) => {
    const [first, second] = intents
    if (first === undefined || second === undefined) return []
    const what = `${intents.length} intents repeat the same one`
    return [{ rule: 'repeated_twice', payout: first.reference, what, evidence: intents }]
  })
}

/** What the service received about counterparties, by the id that it gave them. */
type Registrations = ReadonlyMap<string, Readonly<Record<string, unknown>>>

const readRegistrations = (exchanges: readonly Exchange[]): Registrations =>
  new Map(
    exchanges
      .filter(({ path, status }) => path.includes('/addresses/external') && status === 201)
      .map(({ body, answer }) => [String(readJson(answer)['id']), readJson(body)]),
  )

/** The members of an effect that are not those of the intent. Specification, "Conventions": spelling of types may differ in case. */
function compareEffect(effect: Effect, intent: Intent, registrations: Registrations): readonly string[] {
  const different = compareLegs(effect, intent, registrations)
  return effect.account === intent.account ? different : ['account', ...different]
}

/** The members of amount, source and destination that differ from the request. */
export function compareLegs(
  done: Pick<Effect, 'amount' | 'source' | 'destination'>,
  asked: Asked,
  registrations?: Registrations,
): readonly string[] {
  const found: string[] = []
  const isSame = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
  const isDecimal = /^\d+(\.\d{1,18})?$/
  if (!isDecimal.test(done.amount.value) || units(done.amount.value) !== units(asked.amount.value)) found.push('amount')
  if (!isSame(done.amount.currency, asked.amount.currency)) found.push('currency')
  for (const end of ['source', 'destination'] as const) {
    const [is, wanted] = [done[end], asked[end]]
    if (!isSame(is.valueType, wanted.valueType)) found.push(`${end} value type`)
    if (!isSame(is.transferType, wanted.transferType)) found.push(`${end} transfer type`)
    if (wanted.payee === undefined) {
      if ((is.address ?? '') !== (wanted.address ?? '')) found.push(`${end} address`)
    } else if (registrations !== undefined) {
      const known = registrations.get(is.address ?? '')
      if ((known?.['address'] ?? known?.['account_number']) !== wanted.payee) found.push(`${end} counterparty`)
    }
  }
  return found
}
