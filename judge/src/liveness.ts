import { type Case, endOf, type Violation } from './case.ts'
import type { Intent } from './history.ts'

/** A span of time, in milliseconds since the epoch. */
type Span = readonly [from: number, to: number]

/**
 * Reliability: "One account cannot starve another". A tenant whose own side is well is served within a bound, whatever
 * others do: from the commit to the first request, without the times in which its side was not well.
 */
export function judgeLiveness({ history, payouts, travelled }: Case): readonly Violation[] {
  const { servedWithinMs: bound, endedAt } = history.run
  if (bound === undefined) return []
  return payouts.flatMap(({ reference, intents, creates, notices }) => {
    const [intent] = intents
    if (intent === undefined) return []
    const served = creates[0]?.at ?? endOf(notices.get(intent.id) ?? [])?.at ?? endedAt
    const skipped = travelled(served) - travelled(intent.at)
    const due = Math.max(intent.at, intent.notBefore === undefined ? 0 : Date.parse(intent.notBefore) - skipped)
    const waited = served - due - unwellMs(history.host, intent, [due, served])
    if (waited <= bound) return []
    const what = `${intent.account} waited ${Math.round(waited)} ms for its first request, and its own side was well`
    return [{ rule: 'starved', payout: reference, what, evidence: [intent, creates[0]] }]
  })
}

/** How much of a span the tenant's own side was not well. Marks for everybody and for the tenant may overlap. */
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
