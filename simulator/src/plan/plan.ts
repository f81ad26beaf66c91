import { type Choices, type Draw, type PlannedPayout, startDrawing } from './draw.ts'
import { followPolicies } from './earlier-payments.ts'
import type { MovingStep, moveMoments } from './moves.ts'
import { drawPlayers, type Player, type PlayerStep, playerSteps, players } from './players.ts'
import { drawWaitingBatches } from './waiting-batches.ts'

/** Limits of an account; null removes one. */
export interface PlannedLimits {
  readonly ratePerSecond: number | null
  readonly concurrency: number | null
  readonly weight: number | null
}

/** Where a fault of the network strikes. */
export type NetworkTarget = 'creates' | 'reads' | 'tokens' | 'registrations'

/** How the network or the service fails. */
const networkFaults = [
  'drop_request',
  'drop_response',
  'fail_after',
  'reset_body',
  'busy',
  'unauthorized',
  'slow',
] as const

/** How the network or the service fails. */
export type NetworkFault = (typeof networkFaults)[number]

/** A moment in the life of a worker: before or after the n-th statement of a kind from now on, or request to the service. */
export interface Moment {
  readonly at: (typeof moments)[number] | (typeof moveMoments)[number]
  readonly phase: 'before' | 'after'
  readonly nth: number
}

/** What a worker does that a fault can hit; all but `submit` are statements. */
export const moments = [
  'fetch',
  'claim',
  'submit',
  'settle',
  'lease_due',
  'next',
  'acknowledge',
  'transaction',
] as const

/** How a worker is started. */
export interface PlannedStart {
  readonly skewSeconds: number
  /** Default 8. */
  readonly concurrency?: number
  /** An earlier release subscribes to fewer types of event under the same names. Default `later`. */
  readonly release?: 'earlier' | 'later'
  /** True when it shares its gateway with the others that do. */
  readonly sharesGateway?: boolean
}

/** One step of a plan. Workers and tenants are numbered from 0. */
export type Step =
  | PlayerStep
  | MovingStep
  | {
      readonly do: 'enqueue'
      readonly tenant: number
      readonly payouts: readonly PlannedPayout[]
      readonly rollBack: boolean
    }
  /** The connection is lost with the answer to the commit: the host cannot know. */
  | { readonly do: 'enqueue_unsure'; readonly tenant: number; readonly payouts: readonly PlannedPayout[] }
  | { readonly do: 'repeat'; readonly payout: number; readonly changed: boolean }
  | { readonly do: 'cancel' | 'release' | 'resubmit'; readonly payout: number }
  | { readonly do: 'pause' | 'resume' | 'fund' | 'funds_arrived'; readonly tenant: number }
  /** The secret that the host knows is wrong from now on, or right again. */
  | { readonly do: 'lock_out' | 'let_in'; readonly tenant: number }
  /** The owner of a linked bank account has to log in again, or does. */
  | { readonly do: 'lose_login' | 'relink'; readonly tenant: number }
  /** The host adopts from now on what somebody else makes for the account. */
  | { readonly do: 'watch'; readonly tenant: number }
  /** Somebody else makes a transfer for the account, past the engine. */
  | { readonly do: 'foreign'; readonly tenant: number; readonly payout: PlannedPayout }
  | ({ readonly do: 'limit'; readonly tenant: number } & PlannedLimits)
  | { readonly do: 'archive'; readonly olderThanMs: number }
  | { readonly do: 'network'; readonly on: NetworkTarget; readonly fault: NetworkFault; readonly times: number }
  | { readonly do: 'lose_connection' | 'kill'; readonly worker: number; readonly moment: Moment }
  | { readonly do: 'stall'; readonly worker: number }
  | { readonly do: 'wake_stalled' }
  | ({ readonly do: 'start'; readonly worker: number } & PlannedStart)
  | { readonly do: 'webhooks'; readonly mischief: 'none' | 'twice' | 'late' | 'lost' | 'forged' }
  | { readonly do: 'handlers_fail'; readonly times: number }
  | { readonly do: 'travel' | 'rails'; readonly seconds: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'lose_jobs' }
  | { readonly do: 'restart_postgres' }

/** What happens in one run; the same for the same seed. */
export interface Plan {
  readonly seed: number
  readonly tenants: number
  /** True when one client of the service has the accounts of all tenants. */
  readonly sharesClient: boolean
  /** True when hosts pay through two gateways. */
  readonly twoGateways?: boolean
  /** True when hosts have two databases, between which accounts move. */
  readonly hasNodes?: boolean
  readonly steps: readonly Step[]
}

/** Workers that a plan may name. */
const workerCount = 3

/** What hosts do. */
export const hostSteps = ({ fraction, below, oneOf, tenants, payouts, some }: Draw): Choices<Step> => [
  [
    22,
    () => ({
      do: 'enqueue',
      tenant: below(tenants),
      payouts: payouts(fraction() < 0.7 ? 1 : 2 + below(8)),
      rollBack: fraction() < 0.15,
    }),
  ],
  [3, () => ({ do: 'enqueue_unsure', tenant: below(tenants), payouts: payouts(1 + below(3)) })],
  [4, () => ({ do: 'repeat', payout: some(), changed: fraction() < 0.4 })],
  [5, () => ({ do: oneOf(['cancel', 'release', 'resubmit']), payout: some() })],
  [4, () => ({ do: oneOf(['pause', 'resume', 'fund', 'funds_arrived']), tenant: below(tenants) })],
]

/** What one gateway refuses for good, and another one may take over. */
const refusals = ({ below, tenants, payouts }: Draw): Choices<Step> => [
  [
    12,
    () => ({
      do: 'enqueue',
      tenant: below(tenants),
      payouts: payouts(1 + below(4)).map(({ number }) => ({ number, kind: 'refused', amount: 1 + below(20) })),
      rollBack: false,
    }),
  ],
]

const drawMoment = ({ below, oneOf }: Draw): Moment => ({
  at: oneOf(moments),
  phase: oneOf(['before', 'after']),
  nth: 1 + below(3),
})

const drawStart = ({ fraction, below, oneOf }: Draw, taking: ReadonlySet<Player>): PlannedStart => ({
  skewSeconds: fraction() < 0.2 ? below(600) - 300 : 0,
  concurrency: oneOf([2, 2, 8]),
  ...(taking.has('two_releases') ? { release: oneOf(['earlier', 'later']) } : {}),
  ...(taking.has('common_gateways') ? { sharesGateway: fraction() < 0.9 } : {}),
})

/** What goes wrong, and what time does. */
export const disturbances = (draw: Draw, taking: ReadonlySet<Player>): Choices<Step> => {
  const { fraction, below, oneOf } = draw
  const moment = () => drawMoment(draw)
  return [
    [
      14,
      () => ({
        do: 'network',
        on: fraction() < 0.7 ? 'creates' : oneOf(['reads', 'tokens', 'registrations']),
        fault: oneOf(networkFaults),
        times: 1 + below(3),
      }),
    ],
    [6, () => ({ do: 'lose_connection', worker: below(workerCount), moment: moment() })],
    [6, () => ({ do: 'kill', worker: below(workerCount), moment: moment() })],
    [4, () => ({ do: 'stall', worker: below(workerCount) })],
    [3, () => ({ do: 'wake_stalled' })],
    [8, () => ({ do: 'start', worker: below(workerCount), ...drawStart(draw, taking) })],
    [5, () => ({ do: 'webhooks', mischief: oneOf(['none', 'twice', 'late', 'lost', 'forged']) })],
    [4, () => ({ do: 'handlers_fail', times: 1 + below(4) })],
    [7, () => ({ do: 'travel', seconds: oneOf([1, 5, 15, 60, 900]) })],
    [7, () => ({ do: 'rails', seconds: oneOf([1, 60, 7_200, 86_400, 4 * 86_400]) })],
    [10, () => ({ do: 'wait', ms: 5 + below(60) })],
    [2, () => ({ do: 'lose_jobs' })],
  ]
}

/** What operators do, and others to the accounts of hosts. */
export const administration = ({ below, oneOf, tenants }: Draw): Choices<Step> => [
  [2, () => ({ do: 'watch', tenant: below(tenants) })],
  [
    3,
    () => ({
      do: 'foreign',
      tenant: below(tenants),
      payout: { number: 10_000 + below(1_000_000), kind: oneOf(['token', 'ach']), amount: 1 + below(40) },
    }),
  ],
  [
    3,
    () => ({
      do: 'limit',
      tenant: below(tenants),
      ratePerSecond: oneOf([null, 2, 20]),
      concurrency: oneOf([null, 1, 2]),
      weight: oneOf([null, 0.1, 5]),
    }),
  ],
  [3, () => ({ do: oneOf(['lock_out', 'let_in', 'lose_login', 'relink']), tenant: below(tenants) })],
  [2, () => ({ do: 'archive', olderThanMs: oneOf([0, 60_000, 3_600_000]) })],
]

/** The same payouts in a batch, in one transaction. */
const enterBatch = ({ tenant, payouts }: Extract<Step, { readonly do: 'enqueue' }>): Step => ({
  do: 'fill_batch',
  tenant,
  batch: 0,
  payouts,
  transactions: 1,
  isReversed: false,
  rolledBack: null,
  isSnapshot: false,
  meanwhile: 'nothing',
  forMs: 0,
  isRepeated: false,
})

/** Steps with those before them without which they would mean little. */
export function precede({ tenants, payouts, below, ...others }: Draw, step: Step): readonly Step[] {
  const enqueue = (tenant: number, count: number, kind: PlannedPayout['kind'] = 'token') =>
    ({
      do: 'enqueue',
      tenant,
      payouts: payouts(count).map(({ number }) => ({ number, kind, amount: 1 })),
      rollBack: false,
    }) as const satisfies Step
  // Something to be served for each tenant.
  if (step.do === 'serve') return [...Array.from({ length: tenants }, (_, tenant) => enqueue(tenant, 1)), step]
  // Something that meets the foreign code.
  if (step.do === 'misbehave') {
    const met = enqueue(step.tenant, 1 + below(4))
    return step.place === 'screener'
      ? [{ do: 'set_screening', isOn: true }, step, met, { do: 'wait', ms: 700 }]
      : [step, met]
  }
  // Something that is refused, and others of its tenant behind it.
  if (step.do === 'firewall' && step.isNew) {
    const refused = enqueue(step.payout % tenants, 1)
    const { number: payout = step.payout } = refused.payouts[0] ?? {}
    return [{ ...step, payout }, refused, enqueue(refused.tenant, 1 + below(3))]
  }
  // Something that completes and may come back: it is sent, a day of the bank begins, and the next ones pass.
  if (step.do === 'return' || step.do === 'misreport_return') {
    const pause = { do: 'wait', ms: 60 } as const satisfies Step
    const days = { do: 'rails', seconds: 4 * 86_400 } as const satisfies Step
    const tenant = step.do === 'return' ? step.nth : step.choice
    return [enqueue(tenant % tenants, 1 + below(4), 'ach'), pause, days, pause, step]
  }
  // Something that is under way at the rails, of more than is settled.
  if (step.do === 'pay_otherwise') {
    const paid = enqueue(step.choice % tenants, 1 + below(3))
    const payouts = paid.payouts.map((payout) => ({ ...payout, amount: 9 }))
    return [{ ...paid, payouts }, { do: 'wait', ms: 60 }, step, { do: 'wait', ms: 60 }, step]
  }
  // Something that is held, of a process that does not know the policies yet, and those who may approve it at once.
  if (step.do === 'set_policies') {
    const held = enqueue(below(tenants), 1 + below(3))
    const large = held.payouts.map((payout) => ({ ...payout, amount: 25 }))
    const approvals = large.flatMap(({ number: payout }) =>
      [2, 0, 1].map((by) => ({ do: 'approve', payout, by }) as const satisfies Step),
    )
    return [step, { ...held, payouts: large }, ...approvals.slice(0, below(7))]
  }
  // Something that is screened, of a process that does not know the policy yet, by one that gets its turn.
  if (step.do === 'set_screening') return [step, enqueue(below(tenants), 1 + below(3)), { do: 'wait', ms: 700 }]
  // Something about which the screener is asked meanwhile.
  if (step.do === 'screen_as') return [step, enqueue(below(tenants), 1 + below(2)), { do: 'wait', ms: 700 }]
  // More than fits, of one tenant, in commits that workers fetch one after the other.
  if (step.do === 'set_limits') {
    const tenant = below(tenants)
    const many = Array.from({ length: 2 + below(5) }, () => enqueue(tenant, 1 + below(3)))
    const worker = { do: 'start', worker: 1, skewSeconds: 0, concurrency: 2 } as const satisfies Step
    return [
      step,
      worker,
      ...many.map((one) => ({ ...one, payouts: one.payouts.map((payout) => ({ ...payout, amount: 12 })) })),
    ]
  }
  if (step.do === 'set_payments') return followPolicies({ tenants, payouts, below, ...others }, step)
  // Something that fails.
  if (step.do === 'resubmit_twice') return [enqueue(step.choice % tenants, 1, 'refused'), step]
  if (step.do === 'correct') {
    const failing = enqueue(step.choice % tenants, 1, 'refused')
    return [step.choice % 2 === 0 ? failing : enterBatch(failing), step]
  }
  return [step]
}

/** Draws the plan of a seed, in which some of the `playing` take part. Pure. */
export function drawPlan(seed: number, playing: ReadonlySet<Player> = new Set(players)): Plan {
  const dice = startDrawing(seed)
  const { fraction, below } = dice
  const taking = drawPlayers(dice, playing, startDrawing(seed + 0x5eed))
  dice.isScheduling = taking.has('schedules')
  // With one tenant alone nobody could suffer from what is wrong with another.
  const tenants = dice.tenants + (taking.size === 0 ? 0 : 1)
  const draw = { ...dice, tenants }
  const choices: Choices<Step> = [
    ...hostSteps(draw),
    ...(taking.has('two_gateways') ? refusals(draw) : []),
    ...disturbances(draw, taking),
    ...administration(draw),
    ...playerSteps(draw, taking),
    [fraction() < 0.04 ? 4 : 0, () => ({ do: 'restart_postgres' })],
  ]
  const total = choices.reduce((sum, [weight]) => sum + weight, 0)
  const step = (): Step => {
    let left = fraction() * total
    for (const [weight, make] of choices) {
      left -= weight
      if (left < 0) return make()
    }
    return { do: 'wait', ms: 1 }
  }
  const first: Step = { do: 'start', worker: 0, ...drawStart(draw, taking) }
  const drawn: readonly Step[] = [first, ...Array.from({ length: 12 + below(24) }, step), { do: 'serve' }]
  const before = drawn.flatMap((one) => precede(draw, one))
  // At the end, so that what comes before it means what it meant.
  const steps = taking.has('waiting_batches') ? [...before, ...drawWaitingBatches(draw)] : before
  const sharesClient = taking.has('equal_keys')
  // To the service a key belongs to its client, so the second gateway needs a client of its own.
  return { seed, tenants, sharesClient, twoGateways: taking.has('two_gateways') && !sharesClient, steps }
}
