import { type Case, endOf, type Violation } from './case.ts'
import type { Intent } from './history.ts'

/** A span of time, in milliseconds since the epoch. */
type Span = readonly [from: number, to: number]

/**
 * Reliability: "One account cannot starve another". While something of a tenant is due and its own side is well, no time
 * without a request of it is longer than the bound, whatever others do. Its own backlog may take longer; that is no
 * starvation as long as it shrinks.
 */
export function judgeLiveness({ history, payouts, travelled }: Case): readonly Violation[] {
  const { servedWithinMs: bound, endedAt } = history.run
  if (bound === undefined) return []
  const creates = payouts.flatMap((payout) => payout.creates)
  const gaps = new Map<string, readonly Span[]>()
  for (const [account, sent] of Map.groupBy(creates, (create) => create.account)) {
    const times = [...sent.map(({ at }) => at).sort((a, b) => a - b), endedAt]
    const all = times.map((to, index): Span => [times[index - 1] ?? 0, to])
    gaps.set(
      account,
      all.filter(([from, to]) => to - from > bound),
    )
  }
  return payouts.flatMap(({ reference, intents, creates: [create], notices }) => {
    const [intent] = intents
    if (intent === undefined) return []
    const served = create?.at ?? endOf(notices.get(intent.id) ?? [])?.at ?? endedAt
    const skipped = travelled(served) - travelled(intent.at)
    const due = Math.max(intent.at, intent.notBefore === undefined ? 0 : Date.parse(intent.notBefore) - skipped)
    for (const [from, to] of gaps.get(intent.account) ?? [[0, endedAt]]) {
      const span: Span = [Math.max(from, due), Math.min(to, served)]
      const waited = span[1] - span[0] - unwellMs(history.host, intent, span)
      if (waited <= bound) continue
      const what = `${intent.account} waited ${Math.round(waited)} ms for a request, and its own side was well`
      return [{ rule: 'starved', payout: reference, what, evidence: [intent, create] }]
    }
    return []
  })
}

/** The part of a span in which the tenant's own side was not well. Marks for everybody and for the tenant may overlap. */
function unwellMs(host: Case['history']['host'], { account }: Intent, [from, to]: Span): number {
  const open = new Map<string, number>()
  const spans: Span[] = []
  for (const line of host) {
    if ((line.kind !== 'unwell' && line.kind !== 'well') || (line.account !== null && line.account !== account))
      continue
    const name = `${line.account} ${line.why}`
    const since = open.get(name)
    if (line.kind === 'unwell') open.set(name, since ?? line.at)
    else if (since !== undefined) {
      spans.push([since, line.at])
      open.delete(name)
    }
  }
  for (const since of open.values()) spans.push([since, to])
  let [total, until] = [0, from]
  for (const [start, end] of spans.toSorted(([a], [b]) => a - b)) {
    total += Math.max(0, Math.min(end, to) - Math.max(start, until))
    until = Math.max(until, Math.min(end, to))
  }
  return total
}
