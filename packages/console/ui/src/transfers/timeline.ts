import type { Answer } from '../api/client.ts'
import { capitalize, toWords, writeSpan } from '../parts/format.tsx'
import type { Tone } from '../parts/status.tsx'

/** All that is known of one transfer. */
export type Timeline = Answer<'GET /transfers/:transferId'>

/** One thing that happened, whatever part of the evidence it is from. */
export interface Entry {
  readonly key: string
  readonly at: string
  readonly tone: Tone
  readonly kind: 'event' | 'attempt' | 'person' | 'return' | 'screening'
  readonly title: string
  readonly facts: readonly (readonly [name: string, value: string])[]
}

const eventTones: Readonly<Record<string, Tone>> = {
  ...{ complete: 'good', failed: 'bad', canceled: 'idle', held: 'warn', blocked: 'bad', returned: 'bad' },
}

const given = (name: string, value: string | number | null | undefined) =>
  value === null || value === undefined || value === '' ? [] : [[name, String(value)] as const]

const eventEntries = ({ events }: Timeline): readonly Entry[] =>
  events.map(({ sequence, type, stage, status, reason, remoteId, occurredAt }) => {
    const name = type.replace(/^transfer\./, '')
    return {
      key: `event ${sequence}`,
      at: occurredAt,
      tone: eventTones[name] ?? (name.startsWith('complete') ? 'good' : 'busy'),
      kind: 'event',
      title: capitalize(toWords(name)),
      facts: [
        ...given('stage', toWords(stage)),
        ...given('status', status),
        ...given('reason', reason === null ? null : toWords(reason)),
        ...given('id at the service', remoteId),
      ],
    }
  })

const attemptTone = (outcome: string | null): Tone =>
  outcome === null
    ? 'busy'
    : outcome === 'accepted'
      ? 'good'
      : outcome === 'unknown' || outcome === 'rejected'
        ? 'bad'
        : 'warn'

const attemptEntries = ({ attempts }: Timeline): readonly Entry[] =>
  attempts.map((one) => ({
    key: `attempt ${one.attempt} ${one.claimedAt} ${one.step ?? ''}`,
    at: one.claimedAt,
    tone: attemptTone(one.outcome),
    kind: 'attempt',
    title: `Attempt ${one.attempt}: ${one.outcome === null ? 'no answer yet' : toWords(one.outcome)}`,
    facts: [
      ...given('HTTP', one.httpStatus),
      ...given(
        'took',
        one.answeredAt === null ? null : writeSpan(Date.parse(one.answeredAt) - Date.parse(one.claimedAt)),
      ),
      ...given('request id', one.requestId),
      ...given('id at the service', one.remoteId),
      ...given('gateway', one.gateway),
      ...given('worker', one.worker),
      ...given('step', one.step),
      ...given('detail', one.detail),
    ],
  }))

/** Engines write who approved into the audit as well; the approval says more. */
const auditEntries = ({ audit }: Timeline): readonly Entry[] =>
  audit.map(({ id, at, command, actor, reason }) => ({
    key: `audit ${id}`,
    at,
    tone: 'idle',
    kind: 'person',
    title: `${actor ?? 'Somebody'}: ${toWords(command.replace(/^transfers\./, '')).replaceAll('.', ' ')}`,
    facts: [...given('reason', reason), ...given('entry', id)],
  }))

const returnEntries = ({ returns }: Timeline): readonly Entry[] =>
  returns.map((one) => ({
    key: `return ${one.identity}`,
    at: one.occurredAt ?? one.seenAt,
    tone: 'bad',
    kind: 'return',
    title: `Returned: ${one.code}`,
    facts: [
      ...given('amount', one.amount === null ? null : `${one.amount} ${one.currency ?? ''}`),
      ...given('contradicts', one.problem),
      ...given('decided by', one.resolvedBy),
      ...given('note', one.resolutionNote),
    ],
  }))

const screeningTones: Readonly<Record<string, Tone>> = { pass: 'good', hold: 'warn', refuse: 'bad' }

const screeningEntries = ({ held: { screenings = [] } }: Timeline): readonly Entry[] =>
  screenings.map(({ result, case: named, note, by, isCounted, at }) => ({
    key: `screening ${at} ${by}`,
    at,
    tone: screeningTones[result] ?? 'idle',
    kind: 'screening',
    title: `Screening: ${result}${isCounted ? '' : ', without effect'}`,
    facts: [...given('case', named), ...given('note', note), ...given('by', by)],
  }))

/** The request itself, which everything else is about. */
const requestEntry = ({ transfer: { createdAt, amount, idempotencyKey }, held }: Timeline): Entry => ({
  key: 'request',
  at: createdAt,
  tone: 'idle',
  kind: 'person',
  title: 'Requested',
  facts: [['amount', `${amount.value} ${amount.currency}`], ['key', idempotencyKey], ...given('by', held.createdBy)],
})

/** Everything that happened to a transfer, the newest first. Nothing was before its request, whatever clocks say. */
export const writeTimeline = (one: Timeline): readonly Entry[] => {
  const others = [
    ...eventEntries(one).filter(({ title }) => title !== 'Enqueued'),
    ...attemptEntries(one),
    ...auditEntries(one),
    ...returnEntries(one),
    ...screeningEntries(one),
  ]
  const sorted = others.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
  return [...sorted.toReversed(), requestEntry(one)]
}
