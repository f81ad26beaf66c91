import type { Clock, Logger } from '@outlay/core'
import type { Pool } from 'pg'
import { inTransaction } from '../../context.ts'
import { afterConflicts } from '../../database/conflict.ts'
import { asSystem } from '../../database/tenant.ts'
import type { RailFact, RailFactListener } from '../port.ts'
import { advancePayments, findDue, lockDuePayments, type StoredRailPayment } from './rail-payments.ts'
import { nextStep } from './representment.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** Reports one batch of due facts. Resolves with how many were accepted; 0 ends this round. */
export type Reporter = () => Promise<number>

/** Reports due facts, in batches, as virtual time passes. */
export interface FactTicker {
  /** Reports everything that is due now. Resolves with how many facts the listeners accepted. */
  tick(): Promise<number>
  start(reporters: readonly Reporter[]): void
  stop(): Promise<void>
}

/** Dependencies of the ticker of one process. */
export interface FactTickerOptions {
  readonly pool: Pool
  readonly schema: string
  readonly clock: Clock
  readonly virtualClock: VirtualClock
  readonly logger: Logger
  /** Longest interval between two rounds, in milliseconds. */
  readonly intervalMs: number
}

/** Maximum number of facts per batch. */
const batchSize = 500

/** Makes the ticker of one process; several processes share the work. */
export function createFactTicker(options: FactTickerOptions): FactTicker {
  const { virtualClock, logger } = options
  const system = asSystem(options)
  let reporters: readonly Reporter[] = []
  let timer: NodeJS.Timeout | undefined
  let running: Promise<number> = Promise.resolve(0)

  const reportAll = async (): Promise<number> => {
    if (reporters.length === 0) return 0
    const { offsetMs, due } = await findDue(system, options, options.clock.now())
    virtualClock.adopt(offsetMs)
    if (!due) return 0
    let total = 0
    for (const report of reporters)
      for (let reported = -1; reported !== 0; total += reported) reported = await afterConflicts(report)
    return total
  }

  const tick = (): Promise<number> => {
    running = running.catch(() => 0).then(reportAll)
    return running
  }

  const loop = (): void => {
    timer = setTimeout(() => {
      tick()
        .catch((error: Error) => logger.warn({ error: error.message }, 'The rails could not report their facts.'))
        .finally(() => {
          if (reporters.length > 0) loop()
        })
    }, options.intervalMs)
  }

  return {
    tick,
    start(given) {
      reporters = given
      loop()
    },
    async stop() {
      reporters = []
      clearTimeout(timer)
      await running.catch(() => 0)
    },
  }
}

/** What became of one batch. */
export interface ReportedBatch {
  /** How many facts it had. */
  readonly read: number
  readonly accepted: number
  /** Names of those that were not accepted. */
  readonly refused: readonly string[]
}

/**
 * Makes a reporter of batches. What was not accepted is left out of the further batches of its round, so that it hides nothing that is due behind
 * it, and is reported again in the next round.
 */
export function reportBatches(size: number, report: (except: readonly string[]) => Promise<ReportedBatch>): Reporter {
  const refused = new Set<string>()
  return async () => {
    for (;;) {
      const batch = await report([...refused])
      for (const name of batch.refused) refused.add(name)
      const isLast = batch.read < size
      if (isLast) refused.clear()
      if (batch.accepted > 0 || isLast) return batch.accepted
    }
  }
}

/** Makes the reporter of facts about payments. */
export function reportPayments(
  options: Pick<FactTickerOptions, 'pool' | 'schema' | 'virtualClock'> & {
    readonly nextSequence: () => Promise<number>
  },
  listen: RailFactListener,
): Reporter {
  return reportBatches(batchSize, (except) =>
    inTransaction(options, async (tx) => {
      const now = options.virtualClock.now()
      const due = await lockDuePayments(tx, options, now, batchSize, except)
      if (due.length === 0) return { read: 0, accepted: 0, refused: [] }
      const accepted = await listen(due.map(factOf))
      const steps = []
      const refused = []
      for (const payment of due) {
        if (accepted.has(payment.reference)) steps.push(await nextStep(payment, now, options.nextSequence))
        else refused.push(payment.transfer_id)
      }
      if (steps.length > 0) await advancePayments(tx, options, steps)
      return { read: due.length, accepted: steps.length, refused }
    }),
  )
}

/** The next fact of a payment. Only the last one has information about the destination. */
function factOf(payment: StoredRailPayment): RailFact {
  const kind = payment.next_state
  if (kind === null) throw new Error('A payment is due but has no next step.')
  const { amount, currency, received } = payment.route
  return {
    kind,
    reference: payment.reference,
    transferId: payment.transfer_id,
    accountId: payment.account_id,
    amount: { value: received ?? amount, currency },
    failure: kind === 'rejected' || kind === 'returned' ? payment.failure : null,
    reachedAt: kind === 'accepted' ? payment.represented_at?.toISOString() : undefined,
    source: payment.source ?? undefined,
    destination: kind === 'settled' ? (payment.destination ?? undefined) : undefined,
    // Each presentment comes back once.
    returnReference: kind === 'returned' ? `${payment.reference}R${payment.presentment ?? 1}` : undefined,
  }
}
