import { type Correct, drawCorrection } from './corrections.ts'
import type { Choices, Draw, PlannedPayout } from './draw.ts'
import { drawEarlierPayments, type EarlierPaymentStep } from './earlier-payments.ts'

/** Who takes part in plans beside hosts, workers and a network that loses things. Each plan has some of them. */
export const players = [
  'open_transactions',
  'pages',
  'revoked_accounts',
  'idle_days',
  'forgotten_keys',
  'changed_clients',
  'equal_keys',
  'two_releases',
  'hanging_gateways',
  'hanging_reads',
  'hanging_vaults',
  'hanging_handlers',
  'nonsense',
  'throwing',
  'schedules',
  'resubmitted_twice',
  'common_gateways',
  'firewalls',
  'maintenance',
  'returned_payments',
  'two_gateways',
  'quotes',
  'batches',
  'corrections',
  'decided_returns',
  'approvals',
  'sums',
  'other_amounts',
  'screening',
  'waiting_batches',
  'earlier_payments',
] as const

/** Units that may leave in a day where there are limits: one number, so that whatever leaves between two changes of them can be compared with it. */
export const sumMost = 30

/** Name of a player. */
export type Player = (typeof players)[number]

/** What a host transaction has done that stays open. */
export const holdings = ['row', 'enqueue', 'cancel', 'retry_credentials', 'lock', 'pause', 'limit'] as const

/** Foreign code that the engine calls. */
const foreignPlaces = ['gateway', 'reads', 'vault', 'handler'] as const

/** Foreign code that the engine calls. */
export type ForeignPlace = (typeof foreignPlaces)[number] | 'screener'

/** Steps of the players. */
export type PlayerStep =
  /** A host's transaction that stays open after it has done something, to the last of `payouts` where it has such. */
  | {
      readonly do: 'hold'
      readonly tenant: number
      readonly holding: (typeof holdings)[number]
      /** Of the tenant that has it. */
      readonly payout: number
      readonly payouts: readonly PlannedPayout[]
      /** Null: until the plan is over. */
      readonly forMs: number | null
      readonly ends: 'commit' | 'rollback'
      /** What it does before it ends, to another payout of its tenant. */
      readonly later: 'nothing' | 'row' | 'cancel'
      readonly laterPayout: number
    }
  | { readonly do: 'end_holds' }
  /** A proxy answers with a page of its own, before or after the service has acted. */
  | {
      readonly do: 'page'
      readonly on: 'creates' | 'reads' | 'tokens' | 'registrations'
      readonly status: number
      readonly body: 'html' | 'empty' | 'json'
      readonly isAfter: boolean
      readonly times: number
    }
  /** The service removes the account from its client, or restores it. */
  | { readonly do: 'revoke' | 'grant'; readonly tenant: number }
  /** Nobody works while so many days pass. */
  | { readonly do: 'idle'; readonly days: number; readonly isKilled: boolean }
  /** The vault has another client of the service that may use the account. */
  | { readonly do: 'change_client'; readonly tenant: number }
  | { readonly do: 'stop'; readonly worker: number }
  | {
      readonly do: 'misbehave'
      readonly tenant: number
      readonly place: ForeignPlace
      readonly how: 'hang' | 'throw' | 'nonsense'
      /** How long it hangs; null for ever. */
      readonly forMs: number | null
      readonly nonsense: number
      /** Null: until the plan is over. */
      readonly times: number | null
    }
  /** Something between host and service refuses one transfer for what it says, again and again. */
  | {
      readonly do: 'firewall'
      readonly payout: number
      readonly status: 403 | 502
      /** Whether the payout is one that comes next, which no firewall has let pass. */
      readonly isNew: boolean
    }
  /** Somebody locks a table of the engine for a while, and the timers of a worker that lives are due. */
  | {
      readonly do: 'maintain'
      readonly worker: number
      readonly table: 'jobs' | 'transfers' | 'deliveries'
      readonly forMs: number
    }
  /** The host of a worker does things of its own on the pool that it shares with the engine. */
  | { readonly do: 'use_pool'; readonly worker: number }
  /** `choice` is among those that have failed. */
  | { readonly do: 'resubmit_twice'; readonly choice: number }
  /** Banks return payments that were complete: every `nth` now, and the others when all is done. */
  | {
      readonly do: 'return'
      readonly nth: number
      readonly code: 'R01' | 'R03' | 'R10'
      readonly webhooks: 'none' | 'twice' | 'late'
    }
  /** A host asks for one quote, lets time pass, and enqueues these payouts with it, of which one at most may be paid. */
  | {
      readonly do: 'quote'
      readonly tenant: number
      readonly payouts: readonly PlannedPayout[]
      readonly seconds: number
    }
  /** A report says, so often, that more money came back of a complete payout than it was; a person decides about it at once, or later. */
  | { readonly do: 'misreport_return'; readonly choice: number; readonly isDecided: boolean; readonly times: number }
  | FillBatch
  /** A host does something with a batch as a whole, and commits it or does not. */
  | {
      readonly do: 'command_batch'
      readonly batch: number
      readonly what: BatchCommand
      readonly ends: 'commit' | 'rollback'
    }
  | Correct
  | EarlierPaymentStep
  /** Another process of the host sets policies: from so many units on a payout has to be approved by two; null for none. */
  | { readonly do: 'set_policies'; readonly from: number | null }
  /** Another process of the host sets policies: whether every payout is screened. */
  | { readonly do: 'set_screening'; readonly isOn: boolean }
  /** The screener gives the next answers so. */
  | { readonly do: 'screen_as'; readonly result: 'hold' | 'refuse'; readonly times: number }
  /** `by` is who does it among those who may, and those who may not. */
  | { readonly do: 'approve' | 'reject' | 'hold_back' | 'let_go'; readonly payout: number; readonly by: number }
  /** A rail settles a part of a payout, and a person at the service accepts it. `choice` is among those under way. */
  | { readonly do: 'pay_otherwise'; readonly choice: number }
  /** A person sets how many units may leave in a day, of each account and of all; null for no limits. */
  | { readonly do: 'set_limits'; readonly most: number | null }
  /** Healthy tenants must be served now. */
  | { readonly do: 'serve' }

/** What a host does with a batch as a whole. */
const batchCommands = ['close', 'cancel', 'pause', 'resume'] as const

/** What a host does with a batch as a whole. */
type BatchCommand = (typeof batchCommands)[number]

/** Several transactions of a host that are open at once enqueue payouts into one batch, each its part of them. */
interface FillBatch {
  readonly do: 'fill_batch'
  readonly tenant: number
  /** Its number in the plan; the first that fills it creates it. */
  readonly batch: number
  readonly payouts: readonly PlannedPayout[]
  readonly transactions: number
  /** Whether the last one commits first. */
  readonly isReversed: boolean
  /** The one that is rolled back; null when all commit. */
  readonly rolledBack: number | null
  /** Whether they are repeatable read. */
  readonly isSnapshot: boolean
  /** What happens to the batch while they are open. */
  readonly meanwhile: 'nothing' | BatchCommand
  /** How long they stay open after that, in milliseconds. */
  readonly forMs: number
  /** Whether the host, which is not sure, enqueues all of them again afterwards. */
  readonly isRepeated: boolean
}

const misbehaving = (
  { below, oneOf, fraction, tenants }: Draw,
  places: readonly ForeignPlace[],
  how: 'hang' | 'throw' | 'nonsense',
): PlayerStep => ({
  do: 'misbehave',
  tenant: below(tenants),
  place: oneOf(places),
  how,
  forMs: fraction() < 0.6 ? null : oneOf([50, 1_000, 5_000]),
  nonsense: below(16),
  times: oneOf([1, 3, null, null]),
})

const drawHold = ({ below, oneOf, fraction, tenants, payouts, some }: Draw): PlayerStep => {
  // A row with a foreign key is what hosts write most.
  const holding = fraction() < 0.4 ? 'row' : oneOf(holdings)
  return {
    do: 'hold',
    tenant: below(tenants),
    holding,
    payout: some(),
    payouts: holding === 'enqueue' || fraction() < 0.6 ? payouts(1 + below(2)) : [],
    forMs: fraction() < 0.6 ? null : oneOf([50, 500, 2_000]),
    ends: oneOf(['commit', 'rollback']),
    later: oneOf(['nothing', 'row', 'cancel']),
    laterPayout: some(),
  }
}

const drawPage = ({ below, oneOf, fraction }: Draw): PlayerStep => ({
  do: 'page',
  on: fraction() < 0.7 ? 'creates' : oneOf(['reads', 'tokens', 'registrations']),
  status: oneOf([400, 403, 404, 405, 410, 413, 422, 502]),
  body: oneOf(['html', 'empty', 'json']),
  isAfter: fraction() < 0.4,
  times: 1 + below(3),
})

/** Batches that a plan may name. */
const batchCount = 3

const drawFilling = ({ below, oneOf, fraction, tenants, payouts }: Draw): FillBatch => {
  const batch = below(batchCount)
  const transactions = 1 + below(3)
  const drawn = payouts(transactions + below(4))
  // What may come back after the batch is complete.
  const isReturnable = fraction() < 0.2
  return {
    do: 'fill_batch',
    // Every second batch is of one account.
    tenant: batch % 2 === 1 ? batch % tenants : below(tenants),
    batch,
    payouts: isReturnable ? drawn.map((payout) => ({ ...payout, kind: 'ach' })) : drawn,
    transactions,
    isReversed: fraction() < 0.5,
    rolledBack: fraction() < 0.3 ? below(transactions) : null,
    isSnapshot: fraction() < 0.3,
    meanwhile: fraction() < 0.5 ? 'nothing' : oneOf(batchCommands),
    forMs: oneOf([0, 50, 700]),
    isRepeated: fraction() < 0.2,
  }
}

/** The steps of each player, with their weights; what is no step is an option of others. */
const steps: Partial<Readonly<Record<Player, (draw: Draw) => Choices<PlayerStep>>>> = {
  open_transactions: (draw) => [
    [30, () => drawHold(draw)],
    [3, () => ({ do: 'end_holds' })],
  ],
  pages: (draw) => [[14, () => drawPage(draw)]],
  revoked_accounts: ({ below, tenants }) => [
    [5, () => ({ do: 'revoke', tenant: below(tenants) })],
    [5, () => ({ do: 'grant', tenant: below(tenants) })],
  ],
  idle_days: ({ oneOf, fraction }) => [
    [5, () => ({ do: 'idle', days: oneOf([1, 3, 19]), isKilled: fraction() < 0.5 })],
  ],
  forgotten_keys: ({ fraction }) => [[5, () => ({ do: 'idle', days: 31, isKilled: fraction() < 0.5 })]],
  changed_clients: ({ below, tenants }) => [[8, () => ({ do: 'change_client', tenant: below(tenants) })]],
  hanging_gateways: (draw) => [[8, () => misbehaving(draw, ['gateway'], 'hang')]],
  hanging_reads: (draw) => [[8, () => misbehaving(draw, ['reads'], 'hang')]],
  hanging_vaults: (draw) => [[8, () => misbehaving(draw, ['vault'], 'hang')]],
  hanging_handlers: (draw) => [[8, () => misbehaving(draw, ['handler'], 'hang')]],
  nonsense: (draw) => [[10, () => misbehaving(draw, foreignPlaces, 'nonsense')]],
  throwing: (draw) => [[8, () => misbehaving(draw, foreignPlaces, 'throw')]],
  resubmitted_twice: ({ some }) => [[10, () => ({ do: 'resubmit_twice', choice: some() })]],
  common_gateways: ({ below }) => [[16, () => ({ do: 'stop', worker: below(3) })]],
  maintenance: ({ below, oneOf }) => [
    [
      12,
      () => ({
        do: 'maintain',
        worker: below(3),
        table: oneOf(['jobs', 'transfers', 'deliveries']),
        forMs: oneOf([50, 400, 900]),
      }),
    ],
    [8, () => ({ do: 'use_pool', worker: below(3) })],
  ],
  returned_payments: ({ below, oneOf }) => [
    [
      14,
      () => ({
        do: 'return',
        nth: 1 + below(3),
        code: oneOf(['R01', 'R03', 'R10']),
        webhooks: oneOf(['none', 'twice', 'late']),
      }),
    ],
  ],
  quotes: ({ below, oneOf, tenants, payouts }) => [
    [
      16,
      () => ({
        do: 'quote',
        tenant: below(tenants),
        payouts: payouts(1 + below(2)).map(({ number }) => ({ number, kind: 'quoted', amount: 5 + below(40) })),
        seconds: oneOf([0, 0, 0, 400]),
      }),
    ],
  ],
  batches: (draw) => [
    [16, () => drawFilling(draw)],
    [
      16,
      () => ({
        do: 'command_batch',
        batch: draw.below(batchCount),
        what: draw.oneOf(['close', 'cancel', 'pause', 'pause', 'resume']),
        ends: draw.fraction() < 0.2 ? 'rollback' : 'commit',
      }),
    ],
  ],
  corrections: (draw) => [[14, () => drawCorrection(draw)]],
  decided_returns: ({ some, below, fraction }) => [
    [12, () => ({ do: 'misreport_return', choice: some(), isDecided: fraction() < 0.7, times: 1 + below(3) })],
  ],
  approvals: ({ some, oneOf, below }) => [
    [8, () => ({ do: 'set_policies', from: oneOf([5, 5, 20, null]) })],
    [20, () => ({ do: 'approve', payout: some(), by: below(4) })],
    [8, () => ({ do: oneOf(['reject', 'hold_back', 'hold_back', 'let_go', 'let_go']), payout: some(), by: below(4) })],
  ],
  sums: ({ some, oneOf, below }) => [
    [14, () => ({ do: 'set_limits', most: oneOf([sumMost, sumMost, sumMost, null]) })],
    [6, () => ({ do: 'let_go', payout: some(), by: below(4) })],
  ],
  screening: (draw) => [
    [10, () => ({ do: 'set_screening', isOn: draw.fraction() < 0.8 })],
    [10, () => misbehaving(draw, ['screener'], draw.oneOf(['hang', 'throw', 'nonsense']))],
    [6, () => ({ do: 'screen_as', result: draw.oneOf(['hold', 'refuse']), times: 1 + draw.below(3) })],
    [6, () => ({ do: 'let_go', payout: draw.some(), by: draw.below(4) })],
  ],
  earlier_payments: drawEarlierPayments,
  other_amounts: ({ some }) => [[14, () => ({ do: 'pay_otherwise', choice: some() })]],
  firewalls: ({ some, oneOf, fraction }) => [
    [8, () => ({ do: 'firewall', payout: some(), status: oneOf([403, 403, 502]), isNew: fraction() < 0.7 })],
  ],
}

/** What the players of a plan may do. */
export function playerSteps(draw: Draw, taking: ReadonlySet<Player>): Choices<PlayerStep> {
  return [...[...taking].flatMap((player) => steps[player]?.(draw) ?? []), [4, () => ({ do: 'serve' })]]
}

/** So few are asked for by name, and take part in every plan. */
const fewPlayers = 3

/** Those that came later: they are drawn from dice of their own, one after the other, so that seeds without them mean what they meant. */
const latePlayers: readonly Player[] = [
  'returned_payments',
  'two_gateways',
  'quotes',
  'batches',
  'corrections',
  'decided_returns',
  'approvals',
  'sums',
  'other_amounts',
  'screening',
  'waiting_batches',
  'earlier_payments',
]

/** Draws who of the players takes part in a plan: few at a time, or each would always play with the others. */
export function drawPlayers({ fraction }: Draw, playing: ReadonlySet<Player>, late: Draw): ReadonlySet<Player> {
  const chance = playing.size <= fewPlayers ? 1 : 0.2
  // Everybody is drawn, so that a seed means the same, no matter which players are left out.
  const isLate = (player: Player) => latePlayers.includes(player)
  const early = players.filter((player) => !isLate(player) && fraction() < chance && playing.has(player))
  return new Set([...early, ...latePlayers.filter((player) => late.fraction() < chance && playing.has(player))])
}
