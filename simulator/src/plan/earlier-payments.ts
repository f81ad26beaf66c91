import type { Choices, Draw, PlannedPayout } from './draw.ts'

/** Rules about earlier payments that a policy may have: whether a payee is new, and whether a payout looks like another one. */
export type PaymentRule = 'new' | 'alike'

/** Steps of those who set such policies, and of those who pay. */
export type EarlierPaymentStep =
  /** Another process of the host sets policies; none for an empty list. */
  | { readonly do: 'set_payments'; readonly rules: readonly PaymentRule[] }
  /** Equal payouts, each in a transaction of its own, which are open at once. */
  | {
      readonly do: 'pay_alike'
      readonly tenant: number
      readonly payouts: readonly PlannedPayout[]
      /** Whether the last one commits first. */
      readonly isReversed: boolean
      /** The one that is rolled back; null when all commit. */
      readonly rolledBack: number | null
    }

type PayAlike = Extract<EarlierPaymentStep, { readonly do: 'pay_alike' }>

/** Few payees and amounts, so that payouts of several steps are alike, too. */
const drawAlike = ({ below, oneOf, fraction, tenants, payouts }: Draw): PayAlike => {
  const count = 2 + below(3)
  const kind = oneOf(['token', 'new_wallet', 'new_wallet', 'new_bank'] as const)
  const amount = 1 + below(3)
  return {
    do: 'pay_alike',
    tenant: below(tenants),
    payouts: payouts(count).map(({ number }) => ({ number, kind, amount })),
    isReversed: fraction() < 0.5,
    rolledBack: fraction() < 0.2 ? below(count) : null,
  }
}

/** What may happen about earlier payments. */
export const drawEarlierPayments = (
  draw: Draw,
): Choices<
  EarlierPaymentStep | { readonly do: 'approve' | 'let_go'; readonly payout: number; readonly by: number }
> => [
  [10, () => ({ do: 'set_payments', rules: draw.oneOf([['new'], ['alike'], ['new', 'alike'], []]) })],
  [16, () => drawAlike(draw)],
  [12, () => ({ do: draw.oneOf(['approve', 'let_go']), payout: draw.some(), by: draw.below(4) })],
]

/** A first payment that somebody lets go and that is complete, and the next ones to the same payee, while workers compete for them. */
export function followPolicies(draw: Draw, step: Extract<EarlierPaymentStep, { readonly do: 'set_payments' }>) {
  if (step.rules.length === 0) return [step]
  const worker = (place: number) => ({ do: 'start', worker: place, skewSeconds: 0, concurrency: 2 }) as const
  const [first, next] = [drawAlike(draw), drawAlike(draw)]
  const payout = first.payouts[first.rolledBack === 0 ? 1 : 0]?.number ?? 0
  const released = [
    { do: 'approve', payout, by: 0 },
    { do: 'let_go', payout, by: 1 },
  ] as const
  const complete = [
    { do: 'wait', ms: 100 },
    { do: 'rails', seconds: 4 * 86_400 },
    { do: 'wait', ms: 100 },
  ] as const
  const again = next.payouts.map((one) => ({ ...one, ...kindOf(first) }))
  return [
    step,
    worker(1),
    worker(2),
    first,
    ...released,
    ...complete,
    { ...next, tenant: first.tenant, payouts: again },
  ]
}

const kindOf = ({ payouts: [one] }: PayAlike) => ({ kind: one?.kind ?? 'token', amount: one?.amount ?? 1 })
