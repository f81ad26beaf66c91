import { openCase, type Violation } from './case.ts'
import { judgeEffects } from './effects.ts'
import type { History } from './history.ts'
import { judgeLedger } from './ledger.ts'
import { judgeLiveness } from './liveness.ts'
import { judgeNotices } from './notices.ts'
import { judgeRequests } from './requests.ts'

/** The verdict. */
export interface Verdict {
  /** Payouts that hosts committed. */
  readonly payouts: number
  /** Requests for a transfer that were sent. */
  readonly requests: number
  /** Transfers at the service. */
  readonly effects: number
  /** Payouts without an effect, without an end, or whose row is gone. */
  readonly lost: number
  /** Payouts with more effects than were asked for. */
  readonly twice: number
  /** Effects and requests that no host asked for. */
  readonly unasked: number
  readonly violations: readonly Violation[]
}

/** Judges a history. Pure. */
export function judge(history: History): Verdict {
  const at = openCase(history)
  const violations = [judgeEffects, judgeRequests, judgeNotices, judgeLedger, judgeLiveness].flatMap((rules) =>
    rules(at),
  )
  const count = (...rules: readonly string[]) =>
    new Set(violations.filter(({ rule }) => rules.includes(rule)).map(({ payout }) => payout)).size
  return {
    payouts: at.payouts.reduce((sum, { intents }) => sum + intents.length, 0),
    requests: at.payouts.reduce((sum, { creates }) => sum + creates.length, 0),
    effects: at.payouts.reduce((sum, { effects }) => sum + effects.length, 0),
    lost: count('lost', 'not_notified', 'stuck', 'completed_without_effect'),
    twice: count('twice'),
    unasked: count('effect_without_intent', 'request_without_intent'),
    violations,
  }
}

/** Longest printed piece of evidence, in characters, and most printed violations. */
const most = { characters: 400, violations: 20 }

/** The verdict, line by line. */
export function report(verdict: Verdict): readonly string[] {
  const { payouts, requests, effects, lost, twice, unasked, violations } = verdict
  const broken = violations
    .slice(0, most.violations)
    .flatMap(({ rule, payout, what, evidence }) => [
      `${rule}: ${payout}: ${what}`,
      ...evidence.slice(0, 4).map((line) => `    ${(JSON.stringify(line) ?? 'nothing').slice(0, most.characters)}`),
    ])
  return [
    `The judge: ${payouts} payouts, ${requests} requests, ${effects} effects; lost ${lost}, twice ${twice}, unasked ${unasked}`,
    ...broken,
    violations.length === 0
      ? 'The judge: every promise held.'
      : `The judge: ${violations.length} promises were broken.`,
  ]
}
