import type { Logger, Subscription } from '@outlay/core'
import type { DeliveryOutcome, SubscriptionStore } from '../subscriptions.ts'
import { thrownText } from '../thrown-text.ts'
import { createAttendance, defaultHoldMs } from './attendance.ts'
import { createIdleLoops, type IdleLoops } from './idle-loops.ts'
import { type Loop, startLoop } from './loop.ts'
import { createTroubledAccounts } from './troubled-accounts.ts'

/** What the loops of one subscription work with. */
export interface SubscriberOptions<Tx> {
  readonly store: SubscriptionStore<Tx>
  readonly subscription: Subscription<Tx>
  readonly logger: Logger
  /** Events being handled at once. */
  readonly concurrency: number
  readonly pollIntervalMs: number
  /** Adds the trace contexts to events. */
  readonly traced?: boolean | undefined
  /** How long a type that no process attends holds back later events of its transfers, in milliseconds. Default ten minutes. */
  readonly holdMs?: number | undefined
}

/** The loops of one subscription. */
export interface Subscriber {
  /** Says that there may be events. */
  wake(): void
  /** Lets handlers end for so long, in milliseconds, then ends their transactions; they do not count as failed. */
  stop(withinMs: number): Promise<void>
}

/** Shortest time between two looks for what to put off, when the last one found nothing, in milliseconds. */
const putOffPauseMs = 1_000

/**
 * Starts the loops that hand events to one subscription. Of those that are idle one at a time looks for events; one that
 * finds as many as it can take wakes another, so that few events cost few looks. One that hangs in a handler is not idle, so
 * nobody waits for it. Half of the loops leave accounts alone whose last event failed.
 */
export function startSubscriber<Tx>(options: SubscriberOptions<Tx>): Subscriber {
  const { subscription, concurrency } = options
  const stopping = new AbortController()
  const loops: Loop[] = []
  const idle = createIdleLoops((index) => loops[index]?.wake(), options.pollIntervalMs)
  const shared = createShared(options)
  for (let index = 0; index < concurrency; index += 1) {
    const isCareful = index >= Math.ceil(concurrency / 2)
    const turn = createTurn(options, shared, { index, isCareful, idle, signal: stopping.signal })
    loops.push(startLoop({ name: `subscription ${subscription.name} ${index}`, logger: options.logger, turn }))
  }
  return {
    wake: () => idle.wake(),
    async stop(withinMs) {
      idle.stop()
      const timer = setTimeout(() => stopping.abort(), withinMs)
      await Promise.all(loops.map((loop) => loop.stop()))
      clearTimeout(timer)
    },
  }
}

/** What the loops of one subscription know together. */
function createShared<Tx>({ store, subscription, holdMs = defaultHoldMs }: SubscriberOptions<Tx>) {
  let nextPutOffAt = 0
  const attendance = createAttendance(store, subscription, holdMs)
  return {
    attendance,
    troubled: createTroubledAccounts(),
    /** Transfers of which an event has failed and is not put off yet. */
    failing: new Set<string>(),
    /** Puts off what is due and cannot be taken; true when it is worth another look. */
    async putOff(accounts: readonly string[]): Promise<boolean> {
      if (performance.now() < nextPutOffAt) return false
      const found = await store.putOff(subscription.name, subscription.types, attendance.holding(), accounts)
      nextPutOffAt = found ? 0 : performance.now() + putOffPauseMs
      return found
    },
  }
}

interface LoopPlace {
  readonly index: number
  readonly isCareful: boolean
  readonly idle: IdleLoops
  readonly signal: AbortSignal
}

function createTurn<Tx>(
  options: SubscriberOptions<Tx>,
  shared: ReturnType<typeof createShared<Tx>>,
  { index, isCareful, idle, signal }: LoopPlace,
): () => Promise<number> {
  const { store, subscription } = options
  const { attendance, troubled, failing } = shared
  // After a failed batch its events go one by one, so that only the one that fails is put off.
  let singly = 0
  return async () => {
    idle.leave(index)
    await attendance.keep()
    const limit = singly > 0 ? 1 : subscription.batchSize
    const begunAt = performance.now()
    const exceptAccounts = isCareful ? troubled.all() : troubled.resting()
    const outcome = await store.deliver(subscription, {
      limit,
      holding: attendance.holding(),
      exceptAccounts,
      exceptTransfers: [...failing],
      onTaken: (taken) => {
        if (taken === limit) idle.wake()
      },
      onFailed: (event) => failing.add(event.transferId),
      signal,
      traced: options.traced,
    })
    if (outcome.kind === 'none') {
      singly = 0
      return (await shared.putOff(exceptAccounts)) ? 0 : idle.enter(index)
    }
    singly = Math.max(0, singly - 1)
    if (outcome.kind === 'stopped') return idle.enter(index)
    if (outcome.kind === 'handled') for (const { accountId } of outcome.events) troubled.handled(accountId)
    if (outcome.kind === 'failed') {
      if (outcome.isItsOwn) troubled.failed(outcome.event.accountId, performance.now() - begunAt)
      if (outcome.count > 1) singly = outcome.count
      try {
        if (outcome.isItsOwn) await recordFailure(options, outcome)
      } finally {
        failing.delete(outcome.event.transferId)
      }
    }
    return 0
  }
}

async function recordFailure<Tx>(
  { store, subscription, logger }: SubscriberOptions<Tx>,
  { event, error }: Extract<DeliveryOutcome, { kind: 'failed' }>,
): Promise<void> {
  const { dead } = await store.fail(subscription.name, event, error)
  const message = thrownText(error)
  const fields = { subscription: subscription.name, event: event.id, error: message }
  if (dead) logger.error(fields, 'A handler failed too often; the event is a dead letter now.')
  else logger.warn(fields, 'A handler failed; the event is handled again later.')
}
