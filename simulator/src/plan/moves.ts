import type { PlannedPayout } from './draw.ts'

/** Statements of a move that change something, in its order, the last one on its way back. */
export const moveMoments = [
  ...(['expect', 'depart', 'pack', 'pack_end', 'arrive', 'replace', 'hand_over', 'open', 'unpack'] as const),
  ...(['discard', 'end_move', 'back'] as const),
] as const

/** A moment of a move: before or after the n-th statement of a kind. */
export interface MoveMoment {
  readonly at: (typeof moveMoments)[number]
  readonly phase: 'before' | 'after'
  readonly nth: number
}

/** Steps of hosts that have several databases, which are numbered from 0. */
export type MovingStep =
  /** A process of its own begins to move an account, goes on with a move that is half done, or takes it back, and may die over it. */
  | {
      readonly do: 'move'
      readonly tenant: number
      readonly to: number
      /** How long attempts under way are waited for, in milliseconds. */
      readonly attemptsMs: number
      /** The statement of the move at which it dies, on either node; null when it lives. */
      readonly dies: MoveMoment | null
      readonly isAwaited: boolean
    }
  /**
   * A transaction is begun where the account is, which moves then, and enqueues in it later. The host, which is not sure, enqueues all of it again where the
   * account is by then.
   */
  | {
      readonly do: 'enqueue_across'
      readonly tenant: number
      readonly payouts: readonly PlannedPayout[]
      readonly isSnapshot: boolean
      /** How much later, in milliseconds; null: when the move is over. */
      readonly forMs: number | null
    }
  /** Everything that moves arrives, whoever goes on with it. */
  | { readonly do: 'end_moves' }
