import type { Evidence } from '../invariants/evidence.ts'
import { checkAll } from '../invariants/invariants.ts'
import type { Violation } from '../violation.ts'
import { customerFunds } from './customer.ts'
import type { Site } from './site.ts'

/** How it came out, in numbers. */
export interface Verdict {
  /** Payouts whose transaction committed. */
  readonly payouts: number
  /** Of those, whose commit was answered. */
  readonly promised: number
  /** Payouts whose commit was sent and not answered. */
  readonly unknown: number
  /** Payouts that were rolled back. */
  readonly withdrawn: number
  /** Payouts without a completed transfer at the service, and promised ones that are gone. */
  readonly lost: number
  /** Transfers at the service that stand for no payout, or for one that has another. */
  readonly twice: number
  /** Transfers of payouts that were rolled back. */
  readonly unasked: number
  /** Requests for a transfer that were sent. */
  readonly attempts: number
  readonly violations: readonly Violation[]
}

/** Compares what was promised with what became of it, and checks everything that must hold. */
export async function judge(site: Site): Promise<Verdict> {
  const { promised, withdrawn, unknown } = site.promises
  const at: Evidence = {
    environment: { host: site.host, service: site.service, nodes: [site] },
    tenants: site.customers.map(({ customer, client }) => ({
      accountId: customer.accountId,
      client,
      funded: customerFunds,
    })),
    keysSeen: site.keysSeen,
    foreign: new Map(),
    mistakes: [],
  }
  const payouts = await readPayouts(site)
  const service = await readService(site)
  const lost = payouts
    .filter(({ remote_id, status }) => status !== 'complete' || !service.delete(remote_id ?? ''))
    .map(({ number, status }) => `payout ${number} has no transfer of its own that is complete: ${status}`)
  const committed = new Set(payouts.map(({ number }) => number))
  for (const number of promised) if (!committed.has(number)) lost.push(`payout ${number} was committed and is gone`)
  const unasked = [...withdrawn].filter((number) => committed.has(number))
  const violations: Violation[] = [
    ...lost.map((detail) => ({ invariant: 'one_effect' as const, detail })),
    ...unasked.map((number) => ({
      invariant: 'one_effect' as const,
      detail: `payout ${number} was rolled back and is there`,
    })),
    ...site.collapses.map((detail) => ({ invariant: 'nothing_stuck' as const, detail })),
  ]
  violations.push(...(await checkAll(at)))
  const attempts = await site.host.query<{ readonly count: number }>(
    'select coalesce(sum(attempt), 0)::integer as count from outlay.transfer',
  )
  return {
    payouts: payouts.length,
    promised: promised.size,
    unknown: unknown.size,
    withdrawn: withdrawn.size,
    lost: lost.length,
    twice: service.size,
    unasked: unasked.length,
    attempts: attempts.rows[0]?.count ?? 0,
    violations,
  }
}

interface FoundPayout {
  readonly number: number
  readonly remote_id: string | null
  readonly status: string | null
}

const readPayouts = async ({ host }: Site): Promise<readonly FoundPayout[]> =>
  (
    await host.query<FoundPayout>(
      `select p.number, t.remote_id, t.status from payout p left join outlay.transfer t on t.id = p.transfer_id`,
    )
  ).rows

/** Transfers of the service by id; the customers are its only ones. */
const readService = async ({ service }: Site): Promise<Set<string>> =>
  new Set(
    (await service.query<{ readonly id: string }>('select id from outlay_service.transfer')).rows.map(({ id }) => id),
  )
