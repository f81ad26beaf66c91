/** The doctor's own sentences for what an alarm finds. */
import type { HealthFacts } from '../../packages/adapters-pg/src/inspection/health.ts'
import { diagnose } from '../../packages/cli/src/doctor/diagnosis.ts'
import { healthyConnection, healthyFacts as well } from '../../packages/cli/test/healthy.ts'

const long = { count: 1, samples: ['01J'], oldestMs: 8 * 86_400_000 }

/** The alarm puts the name of the subscription in its place. */
const subscription = {
  name: '{{ $labels.outlay_subscription }}',
  types: [],
  undelivered: 1,
  failing: 0,
  deadLetters: 0,
  oldestAt: null,
  lagMs: null,
  lastError: null,
  unattendedMs: 0,
}

const facts = {
  blocked: { transfers: { ...well.transfers, blocked: [{ ...long, reason: 'any' }] } },
  workers_behind: { jobs: { ...well.jobs, due: long } },
  no_workers: { workers: { ...well.workers, supervisedMs: null }, jobs: { ...well.jobs, due: long } },
  outcome_unknown: { transfers: { ...well.transfers, unknown: long } },
  awaiting_funds: { transfers: { ...well.transfers, awaitingFunds: long } },
  credentials_refused: {
    refusedAccounts: [{ accountId: 'acme', refusedMs: 1 }] as unknown as HealthFacts['refusedAccounts'],
  },
  dead_letters: { subscriptions: [{ ...subscription, deadLetters: 1 }] },
  subscription_lag: { subscriptions: [{ ...subscription, lagMs: long.oldestMs }] },
  failing_handler: { subscriptions: [{ ...subscription, failing: 1, lagMs: long.oldestMs }] },
} as const satisfies Readonly<Record<string, Partial<HealthFacts>>>

/** What the doctor can be asked for. */
export type Finding = keyof typeof facts

/**
 * What to do about a finding, in the words of `outlay doctor`, and its code there.
 * @throws Error when the doctor does not find it.
 */
export function cureOf(name: Finding): { readonly code: string; readonly cure: string } {
  const code = name === 'failing_handler' ? 'subscription_lag' : name
  const found = diagnose({ ...well, ...facts[name] }, healthyConnection)
  const finding = found.find((one) => one.code === code)
  if (finding === undefined) throw new Error(`The doctor does not find ${code}.`)
  return { code, cure: finding.cure }
}
