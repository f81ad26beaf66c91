import type { Logger, Settlement } from '@outlay/core'
import type { AttemptStore } from '../attempts.ts'
import { startLoop } from './loop.ts'

/** Collects outcomes for some milliseconds and writes them together. */
export interface Settler {
  /** Resolves when the settlement is written, or was found to be another worker's. */
  add(settlement: Settlement): Promise<void>
  /** Ends. What is not written by then never is. */
  stop(): Promise<void>
}

/** How long outcomes are collected, in milliseconds. */
const gatherMs = 4

/** Most settlements in one transaction. */
const maxBatch = 500

/**
 * Starts a settler. A batch that cannot be written is tried again until it can: its outcomes exist nowhere else. But one that
 * Postgres refuses for what is in it would be refused for ever, and all behind it would wait; so it is cut in halves until
 * the one is found, and that is given up. Its job then comes back, its outcome counts as unknown, and the same key goes out.
 */
export function startSettler(options: {
  readonly attempts: Pick<AttemptStore, 'settle'>
  readonly logger: Logger
  readonly onSettled: () => void
}): Settler {
  const { attempts, logger } = options
  let pending: { readonly settlement: Settlement; readonly done: () => void }[] = []
  let failing = false
  let most = maxBatch
  const giveUp = ({ transferId, attempt }: Settlement, error: Error): readonly string[] => {
    // The message may quote what was refused.
    logger.error(
      { transferId, attempt, error: error.name },
      'Postgres refuses an outcome; the same key goes out again.',
    )
    return [transferId]
  }
  const loop = startLoop({
    name: 'settle',
    logger,
    async turn() {
      const batch = pending.slice(0, most)
      if (batch.length === 0) return 60_000
      failing = true
      const written = await attempts.settle(batch.map((one) => one.settlement)).catch((error: unknown) => {
        if (!isRefused(error)) throw error
        const [first] = batch
        if (batch.length === 1 && first !== undefined) return giveUp(first.settlement, error)
        most = Math.ceil(batch.length / 2)
        return undefined
      })
      if (written === undefined) return 0
      failing = false
      most = Math.min(maxBatch, most * 2)
      const settled = new Set(written)
      pending = pending.slice(batch.length)
      for (const { settlement, done } of batch) {
        if (!settled.has(settlement.transferId)) {
          logger.warn(
            { transferId: settlement.transferId, attempt: settlement.attempt },
            'An outcome came too late: a newer attempt has the transfer.',
          )
        }
        done()
      }
      options.onSettled()
      return pending.length >= most ? 0 : gatherMs
    },
  })
  return {
    add: (settlement) =>
      new Promise((done) => {
        pending.push({ settlement, done })
        if (!failing) loop.wake()
      }),
    stop: () => loop.stop(),
  }
}

/** Whether Postgres refused a statement for its data: a data exception, an integrity violation, or a limit of its own. */
const isRefused = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^(22|23|54)/.test(error.code)
