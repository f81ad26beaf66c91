import { seededRandom } from '@outlay/testing'

/** What a payout is like: where it goes, and what the simulated rails do with it. */
const payoutKinds = [
  'token',
  'swap',
  'wire',
  'ach',
  'ach_returned',
  'bank_rejects',
  'reverted',
  'answer_lost',
  'rail_busy',
  'refused',
  'new_wallet',
  'new_bank',
  'debit',
] as const

/** What a payout is like. One that is `quoted` changes its currency, and is drawn by its player alone. */
type PayoutKind = (typeof payoutKinds)[number] | 'quoted'

/** One payout of a plan; its number is its place among all payouts of the plan. */
export interface PlannedPayout {
  readonly number: number
  readonly kind: PayoutKind
  /** Whole units. */
  readonly amount: number
  /** How long it is kept in the queue, in seconds; absent when it goes at once. */
  readonly inSeconds?: number
}

/** Chances of a seed. */
interface Dice {
  fraction(): number
  below(count: number): number
  oneOf<T>(choices: readonly T[]): T
}

/** What steps are drawn from: the dice, how many tenants there are, and the payouts so far. */
export interface Draw extends Dice {
  readonly tenants: number
  /** Whether some payouts are scheduled. */
  isScheduling: boolean
  /** The next payouts of the plan. */
  payouts(count: number): PlannedPayout[]
  /** The number of a payout of the plan so far. */
  some(): number
}

/** Steps to choose from, by weight. */
export type Choices<Step> = readonly (readonly [weight: number, draw: () => Step])[]

/** Starts the draw of a seed. */
export function startDrawing(seed: number): Draw {
  const { fraction } = seededRandom(seed)
  const below = (count: number) => Math.floor(fraction() * count)
  const oneOf = <T>(choices: readonly T[]): T => choices[below(choices.length)] as T
  let drawn = 0
  const draw: Draw = {
    fraction,
    below,
    oneOf,
    tenants: 1 + below(3),
    isScheduling: false,
    payouts: (count) =>
      Array.from({ length: count }, () => ({
        number: drawn++,
        // Half of them are plain, or a fault would always meet another one.
        kind: fraction() < 0.5 ? 'token' : oneOf(payoutKinds),
        amount: 1 + below(fraction() < 0.15 ? 900 : 40),
        ...(draw.isScheduling && fraction() < 0.3 ? { inSeconds: oneOf([5, 60, 1_200, 20_000]) } : {}),
      })),
    some: () => below(Math.max(1, drawn)),
  }
  return draw
}
