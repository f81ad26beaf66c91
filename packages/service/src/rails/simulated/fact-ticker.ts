import type { Clock, Logger } from '@outlay/core'
import type { Pool } from 'pg'
import { inTransaction } from '../../context.ts'
import { asSystem } from '../../database/tenant.ts'
import type { RailFact, RailFactListener } from '../port.ts'
import { advancePayments, lockDuePayments, lookForDue, type StoredRailPayment } from './rail-payments.ts'
import { nextStep } from './representment.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** Tells one batch of what is due. Answers with how many facts were taken; 0 ends this look. */
export type Teller = () => Promise<number>

/** Tells what is due, in batches, as virtual time passes. */
export interface FactTicker {
  /** Tells everything that is due now and that the listeners take. Answers with how many facts they took. */
  tick(): Promise<number>
  start(tellers: readonly Teller[]): void
  stop(): Promise<void>
}

/** What the ticker of one process works with. */
export interface FactTickerOptions {
  readonly pool: Pool
  readonly schema: string
  readonly clock: Clock
  readonly virtualClock: VirtualClock
  readonly logger: Logger
  /** Longest pause between two looks, in milliseconds. */
  readonly intervalMs: number
}

/** Most facts of one batch. */
const batchSize = 500

/** Makes the ticker of one process; several processes share the work. */
export function createFactTicker(options: FactTickerOptions): FactTicker {
  const { virtualClock, logger } = options
  const system = asSystem(options)
  let tellers: readonly Teller[] = []
  let timer: NodeJS.Timeout | undefined
  let running: Promise<number> = Promise.resolve(0)

  const tellAll = async (): Promise<number> => {
    if (tellers.length === 0) return 0
    const { offsetMs, due } = await lookForDue(system, options, options.clock.now())
    virtualClock.adopt(offsetMs)
    if (!due) return 0
    let total = 0
    for (const tell of tellers) for (let told = await tell(); told > 0; told = await tell()) total += told
    return total
  }

  const tick = (): Promise<number> => {
    running = running.catch(() => 0).then(tellAll)
    return running
  }

  const loop = (): void => {
    timer = setTimeout(() => {
      tick()
        .catch((error: Error) => logger.warn({ error: error.message }, 'The rails could not tell their facts.'))
        .finally(() => {
          if (tellers.length > 0) loop()
        })
    }, options.intervalMs)
  }

  return {
    tick,
    start(given) {
      tellers = given
      loop()
    },
    async stop() {
      tellers = []
      clearTimeout(timer)
      await running.catch(() => 0)
    },
  }
}

/** Makes the teller of what happens to payments. */
export function tellPayments(
  options: Pick<FactTickerOptions, 'pool' | 'schema' | 'virtualClock'> & {
    readonly nextSequence: () => Promise<number>
  },
  listen: RailFactListener,
): Teller {
  return () =>
    inTransaction(options, async (tx) => {
      const now = options.virtualClock.now()
      const due = await lockDuePayments(tx, options, now, batchSize)
      if (due.length === 0) return 0
      const taken = await listen(due.map(factOf))
      const steps = []
      for (const payment of due) {
        if (taken.has(payment.reference)) steps.push(await nextStep(payment, now, options.nextSequence))
      }
      if (steps.length > 0) await advancePayments(tx, options, steps)
      return steps.length
    })
}

/** What happens next to a payment, as a fact. What is known of the destination is told at the end only. */
function factOf(payment: StoredRailPayment): RailFact {
  const kind = payment.next_state
  if (kind === null) throw new Error('A payment is due without anything to happen.')
  return {
    kind,
    reference: payment.reference,
    transferId: payment.transfer_id,
    accountId: payment.account_id,
    failure: kind === 'rejected' || kind === 'returned' ? payment.failure : null,
    reachedAt: kind === 'accepted' ? payment.represented_at?.toISOString() : undefined,
    source: payment.source ?? undefined,
    destination: kind === 'settled' ? (payment.destination ?? undefined) : undefined,
  }
}
