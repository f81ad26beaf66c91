import type { Logger } from '@outlay/core'
import type { Settlement } from '@outlay/core/adapter'
import { hasSqlState, isLockTimeout } from '../database/lock-timeout.ts'
import { logPaid } from '../transfers/paid-amounts.ts'
import { startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import type { AttemptStore, SettleResults } from './attempts.ts'

/** Collects outcomes for some milliseconds and writes them together. */
export interface Settler {
  /** Resolves when the settlement is written, or when another worker has the transfer. */
  add(settlement: Settlement): Promise<void>
  /** How many outcomes wait for a lock on their transfers. */
  locked(): number
  /** Ends. An outcome that is not written by then is lost. */
  stop(): Promise<void>
}

/** How long outcomes are collected, in milliseconds. */
const gatherMs = 4

/** Longest pause behind a batch, in milliseconds: a batch is followed by a pause of its own length. A busy database so gets fewer and larger ones. */
const maxRestMs = 25

/** Most settlements in one transaction. */
const maxBatch = 500

/** Pauses before an outcome with a locked transfer is written again, the first and the longest, in milliseconds. */
const lockedPauseMs = { first: 50, longest: 2_000 }

/** What is to be known when the enqueue of a transfer that the service accepted was lost. */
export const lostHere = 'this database has lost its transfer; the service has it, and a reconciliation adopts it.'

/** An outcome that is not written yet. */
interface Unwritten {
  readonly settlement: Settlement
  readonly done: () => void
  /** How often its transfer was found locked. */
  readonly tries: number
  /** When the next try is due, by the monotonic clock of this process. */
  readonly dueAt: number
}

/**
 * Starts a settler. It retries a batch until it is written: the outcomes exist nowhere else. Postgres would refuse a batch with
 * bad data for ever, and all behind it would wait; so the settler halves it until it finds the bad outcome, and gives that up. The
 * job then comes back, the outcome counts as unknown, and the same key is sent again.
 *
 * A host's transaction may lock a transfer, and stay open without a limit. The settler defers that outcome, writes the others, and
 * retries it less and less often.
 */
export function startSettler(options: {
  readonly attempts: Pick<AttemptStore, 'settle'>
  readonly logger: Logger
  readonly loops?: LoopList | undefined
  readonly onSettled: () => void
}): Settler {
  const { logger } = options
  let pending: Unwritten[] = []
  let locked: Unwritten[] = []
  let failing = false
  let most = maxBatch
  let restsUntil = 0
  const finish = (batch: readonly Unwritten[], results: SettleResults) => {
    for (const one of batch) {
      const result = results.get(`${one.settlement.transferId} ${one.settlement.attempt}`)
      if (result === 'locked') {
        locked.push(defer(one))
        continue
      }
      logResult(logger, one.settlement, result)
      one.done()
    }
  }
  const pauseMs = () => {
    if (pending.length > 0) return pending.length >= most ? 0 : gatherMs
    const dueAt = Math.min(...locked.map((one) => one.dueAt), Number.POSITIVE_INFINITY)
    return Math.min(60_000, Math.max(gatherMs, dueAt - performance.now()))
  }
  const loop = startLoop({
    name: 'settle',
    logger,
    loops: options.loops,
    async turn() {
      const now = performance.now()
      if (now < restsUntil && pending.length < most) return Math.ceil(restsUntil - now)
      const fresh = pending.slice(0, most)
      const again = locked.filter((one) => one.dueAt <= now).slice(0, most - fresh.length)
      const batch = [...fresh, ...again]
      if (batch.length === 0) return pauseMs()
      failing = true
      const results = await write(options, batch)
      if (results === undefined) most = Math.ceil(batch.length / 2)
      failing = false
      if (results === undefined) return 0
      most = Math.min(maxBatch, most * 2)
      pending = pending.slice(fresh.length)
      locked = locked.filter((one) => !again.includes(one))
      finish(batch, results)
      options.onSettled()
      restsUntil = performance.now() + Math.min(performance.now() - now, maxRestMs)
      return pauseMs()
    },
  })
  return {
    add: (settlement) =>
      new Promise((done) => {
        pending.push({ settlement, done, tries: 0, dueAt: 0 })
        if (!failing) loop.wake()
      }),
    locked: () => locked.length,
    stop: () => loop.stop(),
  }
}

function logResult(logger: Logger, settlement: Settlement, result: ReturnType<SettleResults['get']>): void {
  const { transferId, attempt, remoteId } = settlement
  if (result === 'stale') {
    logger.warn({ transferId, attempt }, 'An outcome came too late: a newer attempt has the transfer.')
  }
  if (result === 'gone') {
    if (remoteId === null) logger.warn({ transferId, attempt }, 'An outcome came for a transfer that is lost here.')
    else logger.error({ transferId, attempt, remoteId }, `An acceptance came, and ${lostHere}`)
  }
  if (result === 'settled') logPaid(logger, settlement)
}

function defer(one: Unwritten): Unwritten {
  const pauseMs = Math.min(lockedPauseMs.longest, lockedPauseMs.first * 2 ** Math.min(one.tries, 10))
  return { ...one, tries: one.tries + 1, dueAt: performance.now() + pauseMs }
}

/** Writes a batch; `undefined` when a smaller one has to be tried, since one of its outcomes is refused or locked. */
async function write(
  { attempts, logger }: { readonly attempts: Pick<AttemptStore, 'settle'>; readonly logger: Logger },
  batch: readonly Unwritten[],
): Promise<SettleResults | undefined> {
  try {
    return await attempts.settle(batch.map((one) => one.settlement))
  } catch (error) {
    const isLocked = isLockTimeout(error)
    if (!isLocked && !hasSqlState(error, refusals)) throw error
    const [first, second] = batch
    if (first === undefined || second !== undefined) return undefined
    const { transferId, attempt } = first.settlement
    if (isLocked) return new Map([[`${transferId} ${attempt}`, 'locked']])
    // The message may quote the refused data.
    logger.error(
      { transferId, attempt, error: error instanceof Error ? error.name : typeof error },
      'Postgres refuses an outcome; the worker sends the same key again.',
    )
    return new Map([[`${transferId} ${attempt}`, 'settled']])
  }
}

/** Why Postgres refuses a statement for its data: a data exception, an integrity violation, or a limit of its own. */
const refusals = /^(22|23|54)/
