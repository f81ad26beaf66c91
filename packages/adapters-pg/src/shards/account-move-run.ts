import type { OperatorNote } from '@outlay/core'
import { moveAborted, moveRefused } from './account-move-check.ts'
import type { DirectoryMove } from './account-move-directory.ts'
import type { MoveNode } from './account-move-node.ts'

/** Where a move stands, and how much of a step is done. */
export interface AccountMoveProgress {
  readonly step:
    | 'preparing'
    | 'leaving'
    | 'packing'
    | 'packed'
    | 'copying'
    | 'verified'
    | 'switched'
    | 'unpacking'
    | 'arrived'
    | 'clearing'
    | 'returning'
    | 'ended'
  /** Transfers or rows of this step that are done in this call. */
  readonly done: number
}

/** How an account moves, and who moves it. */
export interface AccountMoveOptions extends OperatorNote {
  /** The node that it moves to. The one that it is leaving takes a move back that has not switched the route yet. */
  readonly to: string
  /** Takes the move back where it has not switched the route yet; after that it is finished. */
  readonly signal?: AbortSignal | undefined
  /** How long transactions from before may stay open until the move is taken back, before the pause and in it, in milliseconds. Default 10 000. */
  readonly waitMs?: number | undefined
  /** How long attempts under way are waited for, in milliseconds. Later ones move as they are and are asked about with the same key. Default 10 000. */
  readonly attemptsMs?: number | undefined
  /** How long the account may be paused until the route is switched, in milliseconds. After that the move is taken back. Default 300 000. */
  readonly pauseMs?: number | undefined
  readonly onProgress?: ((progress: AccountMoveProgress) => void) | undefined
}

/** One call of a move, between two nodes. */
export interface MoveRun {
  readonly move: DirectoryMove
  readonly from: MoveNode
  readonly to: MoveNode
  readonly waitMs: number
  report(step: AccountMoveProgress['step'], done?: number): void
  /** Begins the pause, from which the times of the options count. */
  pause(): void
  /** True when attempts under way are waited for no longer. */
  isImpatient(): boolean
  /** Throws when the move is to be taken back: by the signal, or because it takes too long. */
  check(): void
}

/** Makes a call of a move. */
export function createMoveRun(
  move: DirectoryMove,
  from: MoveNode,
  to: MoveNode,
  { waitMs = 10_000, attemptsMs = 10_000, pauseMs = 300_000, onProgress, signal }: AccountMoveOptions,
): MoveRun {
  let pausedMs: number | undefined
  return {
    ...{ move, from, to, waitMs },
    report: (step, done = 0) => onProgress?.({ step, done }),
    pause() {
      pausedMs ??= performance.now()
    },
    isImpatient: () => performance.now() - (pausedMs ?? Infinity) >= attemptsMs,
    check() {
      if (signal?.aborted === true) throw moveAborted(move.accountId)
      if (performance.now() - (pausedMs ?? Infinity) <= pauseMs) return
      throw moveRefused(move.accountId, `not all was copied within ${pauseMs} ms; allow a longer pauseMs.`)
    },
  }
}

/** Another process has taken the move on, or back. Nothing is undone then. */
export class Superseded extends Error {
  override readonly name = 'Superseded'
}

/** What a step gave, unless the move has been superseded. */
export function inTime<T>(value: T | undefined | false): T {
  if (value === undefined || value === false) throw new Superseded('Another process has taken the move on, or back.')
  return value
}

/** Rows of one statement, so that no other transaction waits long for one, and memory is bounded. */
export const slice = { transfers: 500, rows: 1_000, discarded: 5_000 }
