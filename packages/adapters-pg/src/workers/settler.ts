import type { Logger, Settlement } from '@outlay/core'
import type { AttemptStore } from '../attempts.ts'
import { startLoop } from './loop.ts'

/** Collects outcomes for some milliseconds and writes them together. */
export interface Settler {
  /** Resolves when the settlement is written, or was found to be another worker's. */
  add(settlement: Settlement): Promise<void>
  /** Writes what is left and ends. */
  stop(): Promise<void>
}

/** How long outcomes are collected, in milliseconds. */
const gatherMs = 4

/** Most settlements in one transaction. */
const maxBatch = 500

/** Starts a settler. A batch that cannot be written is tried again until it can: its outcomes exist nowhere else. */
export function startSettler(options: {
  readonly attempts: AttemptStore
  readonly logger: Logger
  readonly onSettled: () => void
}): Settler {
  const { attempts, logger } = options
  let pending: { readonly settlement: Settlement; readonly done: () => void }[] = []
  let failing = false
  const loop = startLoop({
    name: 'settle',
    logger,
    async turn() {
      const batch = pending.slice(0, maxBatch)
      if (batch.length === 0) return 60_000
      failing = true
      const settled = new Set(await attempts.settle(batch.map((one) => one.settlement)))
      failing = false
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
      return pending.length >= maxBatch ? 0 : gatherMs
    },
  })
  return {
    add: (settlement) =>
      new Promise((done) => {
        pending.push({ settlement, done })
        if (!failing) loop.wake()
      }),
    async stop() {
      while (pending.length > 0) {
        loop.wake()
        await new Promise((resolve) => setTimeout(resolve, gatherMs))
      }
      await loop.stop()
    },
  }
}
