import type { Logger } from '@outlay/core'
import type { Subscription } from '@outlay/core/adapter'
import { thrownAt, thrownText } from '../database/thrown-text.ts'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import { createAttendance, defaultHoldMs } from './attendance.ts'
import { createBegunEvents } from './begun-events.ts'
import { createIdleLoops, type IdleLoops } from './idle-loops.ts'
import { front } from './next-deliveries.ts'
import { createRound, type Round } from './round.ts'
import type { DeliveryOutcome, SubscriptionStore } from './subscriptions.ts'
import { createTroubledAccounts } from './troubled-accounts.ts'
import { createUpkeep } from './upkeep.ts'

/** What the loops of one subscription work with. */
export interface SubscriberOptions<Tx> {
  readonly store: SubscriptionStore<Tx>
  readonly subscription: Subscription<Tx>
  readonly logger: Logger
  readonly loops?: LoopList | undefined
  /** Events being handled at once. */
  readonly concurrency: number
  readonly pollIntervalMs: number
  /** An event that takes longer is slow, in milliseconds. */
  readonly slowAfterMs: number
  /** Adds the trace contexts to events. */
  readonly traced?: boolean | undefined
  /** How long a type that no process attends defers later events of its transfers, in milliseconds. Default ten minutes. */
  readonly holdMs?: number | undefined
}

/** The loops of one subscription. */
export interface Subscriber {
  /** Makes a loop check for events. */
  wake(): void
  /** Waits for handlers for so long, in milliseconds, then ends their transactions; they do not count as failed. */
  stop(withinMs: number): Promise<void>
}

/**
 * Starts the loops that hand events to one subscription. Of the idle loops, one at a time polls for events; a loop that fetches
 * a full batch wakes another, so that few events cost few polls. A loop that hangs in a handler is not idle, so nothing waits for
 * it. Half of the loops skip accounts whose last event failed. The last loop also skips those whose last event was slow or whose
 * first one is being handled, and leaves those that it does not know as quick to the other loops while one of these is free: however
 * many events such an account has, that loop is free for the others. A loop that skips accounts wakes one that does not.
 */
export function startSubscriber<Tx>(options: SubscriberOptions<Tx>): Subscriber {
  const { subscription, concurrency, logger, loops: list } = options
  // One call for each event, or for all together.
  const hostMs = subscription.timeoutMs * (subscription.together ? 1 : subscription.batchSize)
  const stopping = new AbortController()
  const loops: Loop[] = []
  const idle = createIdleLoops((index) => loops[index]?.wake(), options.pollIntervalMs)
  const shared = createShared(options)
  for (let index = 0; index < concurrency; index += 1) {
    const turn = createTurn(options, shared, {
      index,
      skips: skippedBy(index, concurrency),
      idle,
      signal: stopping.signal,
    })
    loops.push(startLoop({ name: `subscription ${subscription.name} ${index}`, logger, turn, loops: list, hostMs }))
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

/** What the loops of one subscription share. */
function createShared<Tx>({ store, subscription, logger, slowAfterMs, holdMs = defaultHoldMs }: SubscriberOptions<Tx>) {
  const attendance = createAttendance(store, subscription, logger, holdMs)
  const troubled = createTroubledAccounts(slowAfterMs)
  return {
    attendance,
    upkeep: createUpkeep(store, subscription, attendance.holding),
    begun: createBegunEvents(store, subscription, { logger, onEnded: troubled.endedProcess }),
    troubled,
    /** How many loops have events. */
    busyLoops: 0,
    /** Transfers with an event that has failed and is not deferred yet. */
    failing: new Set<string>(),
  }
}

/** Which accounts a loop leaves to the others: those that rest, those that failed, or all that may hold it for long. */
type Skipped = 'resting' | 'all' | 'doubtful'

function skippedBy(index: number, concurrency: number): Skipped {
  if (index < Math.ceil(concurrency / 2)) return 'resting'
  return index === concurrency - 1 ? 'doubtful' : 'all'
}

interface LoopContext {
  readonly index: number
  readonly skips: Skipped
  readonly idle: IdleLoops
  readonly signal: AbortSignal
}

function createTurn<Tx>(
  options: SubscriberOptions<Tx>,
  shared: ReturnType<typeof createShared<Tx>>,
  { index, skips, idle, signal }: LoopContext,
): () => Promise<number> {
  const { store, subscription } = options
  const { attendance, upkeep, begun, troubled, failing } = shared
  // After a failed batch its events go one by one, so that only the failing one is deferred.
  let singly = 0
  const round = createRound()
  return async () => {
    idle.leave(index)
    for (const part of [begun, attendance, upkeep]) await part.keep()
    const limit = singly > 0 ? 1 : subscription.batchSize
    const begunAt = performance.now()
    const exceptAccounts = troubled[skips]()
    let hasLeft = exceptAccounts.length > 0
    let leased: readonly string[] | undefined
    let end: () => void = () => undefined
    const outcome = await store
      .deliver(subscription, {
        limit,
        holding: attendance.holding(),
        exceptAccounts,
        exceptTransfers: [...failing],
        isCautious: begun.isCautious(),
        place: round.place(),
        onLeased(accountIds) {
          if (accountIds.length === limit) idle.wake()
          leased = accountIds
          if (skips === 'doubtful' && isForOthers(options, shared, accountIds)) {
            leased = []
            hasLeft = true
            return false
          }
          const done = troubled.begin(accountIds)
          shared.busyLoops += 1
          end = () => {
            shared.busyLoops -= 1
            done()
          }
          return true
        },
        onFailed: (event) => failing.add(event.transferId),
        signal,
        traced: options.traced,
      })
      .finally(() => end())
    if (outcome.kind === 'none') {
      singly = 0
      if (leased === undefined && (await goesOn(options, shared, round, exceptAccounts))) return 0
      // The wake-up may have been for an event that this loop leaves to others.
      if (hasLeft && skips !== 'resting') idle.wakeBelow(skips === 'all' ? Math.ceil(options.concurrency / 2) : index)
      return idle.enter(index)
    }
    if (outcome.kind === 'begun') return 0
    singly = Math.max(0, singly - 1)
    // A batch that failed goes on at the same place, one by one.
    if (singly === 0 && (outcome.kind === 'handled' || (outcome.kind === 'failed' && outcome.count === 1)))
      round.pass(leased)
    if (outcome.kind === 'stopped') return idle.enter(index)
    if (outcome.kind === 'handled') for (const [accountId, ms] of outcome.tookMs) troubled.handled(accountId, ms)
    if (outcome.kind === 'failed') {
      if (outcome.isItsOwn) troubled.failed(outcome.event.accountId, performance.now() - begunAt)
      if (outcome.count > 1) singly = outcome.count
      await recordFailure(options, outcome).finally(() => failing.delete(outcome.event.transferId))
    }
    return 0
  }
}

/** Whether a loop that fetched nothing at its place fetches again, there or at another one. */
async function goesOn<Tx>(
  { store, subscription }: SubscriberOptions<Tx>,
  shared: ReturnType<typeof createShared<Tx>>,
  round: Round,
  exceptAccounts: readonly string[],
): Promise<boolean> {
  if (round.goOn()) return true
  const place = round.place()
  if (place === front && !shared.upkeep.mayWalk()) return false
  return round.goBehind(await store.readEnd(subscription, { exceptAccounts, place }))
}

/** Whether the last loop leaves events to the others: another loop may have leased one of the same account at the same time. */
function isForOthers<Tx>(
  { concurrency }: SubscriberOptions<Tx>,
  { troubled, busyLoops }: ReturnType<typeof createShared<Tx>>,
  accountIds: readonly string[],
): boolean {
  const isAnotherFree = busyLoops < concurrency - 1
  if (isAnotherFree && accountIds.some((accountId) => !troubled.isQuick(accountId))) return true
  return troubled.doubtful().some((one) => accountIds.includes(one))
}

async function recordFailure<Tx>(
  { store, subscription, logger }: SubscriberOptions<Tx>,
  { event, error, isItsOwn }: Extract<DeliveryOutcome, { kind: 'failed' }>,
): Promise<void> {
  if (!isItsOwn) return
  const { dead } = await store.fail(subscription.name, event, error)
  const at = thrownAt(error)
  const fields = {
    ...{ subscription: subscription.name, event: event.id, error: thrownText(error) },
    ...(at === undefined ? {} : { at }),
  }
  if (dead) logger.error(fields, 'A handler failed too often; the event is a dead letter now.')
  else logger.warn(fields, 'A handler failed; the worker delivers the event again later.')
}
