import { type Case, isFinal, readJson, type Violation } from './case.ts'
import type { Exchange, Notice } from './history.ts'

/** Judges the notices of hosts, and the order of the service's statuses. */
export function judgeNotices(at: Case): readonly Violation[] {
  const { host, run } = at.history
  const references = new Map(
    host.flatMap((line) => (line.kind === 'intent' ? [[line.id, line.reference] as const] : [])),
  )
  const all = host.filter((line) => line.kind === 'notice')
  const found: Violation[] = []
  for (const [intent, notices] of Map.groupBy(all, (notice) => notice.intent)) {
    const payout = references.get(intent) ?? intent
    const isAdopted = notices.some(({ type }) => type === 'transfer.adopted')
    if (!references.has(intent) && !isAdopted)
      found.push({
        rule: 'notice_without_intent',
        payout,
        what: 'the host was notified of what it never committed',
        evidence: notices,
      })
    const bySubscription = Map.groupBy(notices, ({ subscription }) => subscription)
    for (const [name, own] of bySubscription)
      found.push(...judgeOrder(payout, own, run.everything.includes(name) && run.atRest))
    const end = notices.find(isEnd)
    if (end === undefined || !run.atRest) continue
    for (const name of run.endings) {
      if (bySubscription.get(name)?.some(isEnd) === true) continue
      found.push({ rule: 'notice_missing', payout, what: `${name} was not notified of ${end.type}`, evidence: [end] })
    }
  }
  return [...found, ...judgeStatuses(at)]
}

const isEnd = (notice: Notice): boolean =>
  /^transfer\.(completed|failed|canceled)$/.test(notice.type) && isFinal(notice)

/** Reliability: "A handler's writes commit together with the acknowledgement, in order per transfer", so each is there once. */
function judgeOrder(payout: string, notices: readonly Notice[], wantsAll: boolean): readonly Violation[] {
  const found: Violation[] = []
  const add = (rule: string, what: string, ...evidence: unknown[]) => void found.push({ rule, payout, what, evidence })
  for (const [place, notice] of notices.entries()) {
    const before = notices[place - 1]
    if (before === undefined) continue
    if (notices.findIndex(({ event }) => event === notice.event) < place) {
      add('notified_twice', `${notice.subscription} has the effect of ${notice.type} twice`, before, notice)
    } else if (notice.sequence <= before.sequence) {
      add('out_of_order', `${notice.subscription}: ${notice.sequence} after ${before.sequence}`, before, notice)
    }
    // Reliability: "A status only moves forward".
    if (before.sequence < notice.sequence && !leadsTo(before, notice))
      add('status_backwards', `the host got ${before.status}, then ${notice.status}`, before, notice)
  }
  const ends = new Set(notices.filter(isEnd).map(({ event }) => event))
  if (ends.size > 1) add('two_ends', `${ends.size} ends were notified`, ...notices)
  const sequences = new Set(notices.map(({ sequence }) => sequence))
  const missing = Array.from({ length: Math.max(0, ...sequences) }, (_, index) => index + 1).find(
    (one) => !sequences.has(one),
  )
  if (wantsAll && missing !== undefined)
    add('notice_missing', `${notices[0]?.subscription} lacks event ${missing}`, ...notices)
  return found
}

interface State {
  readonly status: string
  readonly retriable: boolean
}

/** Specification, "States and transitions", in any number of steps; out of a failure only while it is retriable. */
function leadsTo(from: State, to: State): boolean {
  return from.status === to.status || (!isFinal(from) && to.status !== 'pending')
}

/** Compares the service's statements in between, and its answers, with its statements at the end. */
function judgeStatuses({ history }: Case): readonly Violation[] {
  const { service, exchanges } = history
  const found: Violation[] = []
  const ends = new Map(service.flatMap((line) => (line.kind === 'transfer' ? [[line.id, line] as const] : [])))
  const seen = Map.groupBy(
    service.filter((line) => line.kind === 'status'),
    ({ id }) => id,
  )
  for (const [id, states] of seen) {
    const end = ends.get(id)
    const path: readonly State[] = end === undefined ? states : [...states, end]
    const wrong = path.findIndex((state, place) => place > 0 && !leadsTo(path[place - 1] ?? state, state))
    if (wrong > 0)
      found.push({
        rule: 'status_backwards',
        payout: end?.note ?? id,
        what: `${id} went back`,
        evidence: path.slice(wrong - 1, wrong + 1),
      })
  }
  for (const exchange of exchanges) {
    for (const { id, status } of readTransfers(exchange)) {
      const end = ends.get(id)
      if (end === undefined || end.status === status || !['complete', 'canceled'].includes(status)) continue
      const what = `the service answered that ${id} is ${status}, and it is ${end.status}`
      found.push({ rule: 'answer_untrue', payout: end.note ?? id, what, evidence: [exchange, end] })
    }
  }
  return found
}

/** The transfers in an answer. Specification: one, a list in `transfers`, or a bare list. */
function readTransfers({
  path,
  status,
  answer,
}: Exchange): readonly { readonly id: string; readonly status: string }[] {
  if (!/\/transfers/.test(path) || status === undefined || status >= 300) return []
  const read = readJson(answer)
  const list = Array.isArray(read) ? read : Array.isArray(read['transfers']) ? read['transfers'] : [read]
  return list.filter((one) => typeof one?.id === 'string' && typeof one?.status === 'string')
}
