import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import type { Logger, WorkOptions } from '@outlay/core'
import type { Workers, WorkHandlers } from '@outlay/core/adapter'
import type { WatchedAccountStore } from './adoption/watched-accounts.ts'
import { startWatcher } from './adoption/watcher.ts'
import type { ArchiveStore } from './archive/archive.ts'
import { startArchiver } from './archive/archiver.ts'
import type { BatchStore } from './batches/batches.ts'
import { startBatchFolder } from './batches/folder.ts'
import type { ClockJumpStore } from './clock/clock-jumps.ts'
import { startClockWatch } from './clock/clock-watch.ts'
import type { AuditChainerOptions } from './control/audit-chainer.ts'
import type { ExpiredHoldStore } from './control/expired-holds.ts'
import type { LimitSweepStore } from './control/limit-sweeps.ts'
import { startCounter } from './counts/counter.ts'
import type { CountStore } from './counts/counts.ts'
import type { Driver } from './database/driver.ts'
import type { AttemptStore } from './dispatch/attempts.ts'
import { startDispatcher } from './dispatch/dispatcher.ts'
import type { GatewayStore } from './dispatch/gateways.ts'
import type { SubmissionStore } from './dispatch/submissions.ts'
import type { CredentialStore } from './limits/credentials.ts'
import { startThrottler } from './limits/throttler.ts'
import type { ThrottleStore } from './limits/throttles.ts'
import { type Guard, startGuard } from './operations/guard.ts'
import type { CheckIdentity } from './operations/operations.ts'
import type { ListReadingStore } from './polling/list-readings.ts'
import { startPoller } from './polling/poller.ts'
import type { PollStore } from './polling/polls.ts'
import { startQueueSupervision } from './queue/queue-supervision.ts'
import { startReturnReader } from './returns/return-reader.ts'
import type { ReturnReadingStore } from './returns/return-readings.ts'
import { checkWorkerRole } from './schema/worker-role.ts'
import { startScreener } from './screening/screener.ts'
import type { ScreeningStore } from './screening/screenings.ts'
import { countHandlerLoops } from './subscriptions/handler-loops.ts'
import { startSubscriber } from './subscriptions/subscriber.ts'
import type { SubscriptionStore } from './subscriptions/subscriptions.ts'
import { startSweeper } from './sweeps/sweeper.ts'
import { startUnknownSweeper } from './sweeps/unknown-sweeper.ts'
import type { CounterpartyStore } from './transfers/counterparties.ts'
import type { TransferStore } from './transfers/transfers.ts'
import { warnOfIsolation } from './workers/isolation.ts'
import type { LoopList } from './workers/loop-list.ts'
import { startWakeup } from './workers/wakeup.ts'

/** What workers need of the database, and of the engine. */
export interface WorkParts<Tx> {
  readonly driver: Driver<Tx>
  readonly schema: string
  readonly queueSchema: string
  readonly channel: string
  readonly logger: Logger
  readonly checkIdentity: CheckIdentity
  readonly deployment: string | undefined
  readonly transfers: TransferStore<Tx>
  readonly archive: ArchiveStore
  readonly batches: BatchStore<Tx>
  readonly attempts: AttemptStore
  readonly polls: PollStore
  readonly gateways: GatewayStore
  readonly counterparties: CounterpartyStore<Tx>
  readonly expiredHolds: ExpiredHoldStore
  readonly limits: LimitSweepStore
  readonly audit: AuditChainerOptions['audit']
  readonly counts: CountStore
  readonly screenings: ScreeningStore<Tx>
  readonly readings: ListReadingStore
  readonly watched: WatchedAccountStore<Tx>
  readonly returnReadings: ReturnReadingStore
  readonly clockJumps: ClockJumpStore
  readonly credentials: CredentialStore
  readonly throttles: ThrottleStore
  readonly submissions: SubmissionStore
  readonly subscriptions: SubscriptionStore<Tx>
  readonly handlers: WorkHandlers<Tx>
  readonly work: WorkOptions
  readonly loops: LoopList
}

/** What workers need before the first of them starts. When a step fails, nothing is left running. */
async function prepareWork<Tx>(parts: WorkParts<Tx>) {
  const { driver, logger, handlers } = parts
  await checkWorkerRole(driver, parts.schema)
  const offError = driver.onError((error) =>
    logger.warn({ error: error.message }, 'An idle connection failed; the pool opens another.'),
  )
  let guard: Guard | undefined
  try {
    // First: an engine that is refused here writes nothing.
    guard = await startGuard({ ...parts, environment: handlers.environment, gateways: handlers.gateways })
    await warnOfIsolation(driver, logger)
    for (const { name, types } of handlers.subscriptions) await parts.subscriptions.register(name, types)
    const supervision = await startQueueSupervision(driver, parts.queueSchema, logger)
    return { offError, guard, supervision }
  } catch (error) {
    offError()
    await guard?.stop()
    throw error
  }
}

/** Starts all workers of an engine, once the database may be worked on. */
export async function startWork<Tx>(parts: WorkParts<Tx>): Promise<Workers> {
  const { driver, logger, handlers, work } = parts
  const { pollIntervalMs = 200, concurrency = 100, stopTimeoutMs = 10_000, slowAfterMs = 5_000 } = work
  const archiveAfterMs = readArchiveAfterMs(work)
  const { offError, guard, supervision } = await prepareWork(parts)
  const subscribers = startSubscribers(parts, pollIntervalMs, slowAfterMs)
  const wakeSubscribers = () => {
    for (const subscriber of subscribers) subscriber.wake()
  }
  const worker = `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`
  const throttler = startThrottler({ ...parts, onReleased: () => dispatcher.wake() })
  const limits = { concurrency, pollIntervalMs, slowAfterMs }
  const dispatcher = startDispatcher({ ...parts, ...limits, throttler, guard, worker, onSettled: wakeSubscribers })
  const poller = startPoller({ ...parts, throttler, slowAfterMs, onObserved: wakeSubscribers })
  const watcher = startWatcher({ ...parts, slowAfterMs, onObserved: wakeSubscribers })
  const returnReader = startReturnReader({ ...parts, throttler, slowAfterMs, onObserved: wakeSubscribers })
  const sweeper = startSweeper({ ...parts, guard })
  const unknown = startUnknownSweeper({ ...parts, unknownLimits: handlers.unknownLimits, onBlocked: wakeSubscribers })
  const clockWatch = startClockWatch(parts)
  const folder = startBatchFolder({ ...parts, onCompleted: wakeSubscribers })
  const counter = startCounter(parts)
  const screener = startScreening(parts, { guard, worker, onAnswered: wakeSubscribers })
  const archiver =
    archiveAfterMs === undefined
      ? undefined
      : startArchiver({ archive: parts.archive, olderThanMs: archiveAfterMs, logger, loops: parts.loops })
  const onWake = (isOutboxAlone: boolean) => {
    dispatcher.wake()
    if (isOutboxAlone) return
    guard.wake()
    throttler.wake()
    wakeSubscribers()
  }
  const wakeup = work.listen === false ? undefined : startWakeup({ driver, channel: parts.channel, logger, onWake })
  const end = async () => {
    const stoppedAt = performance.now()
    await Promise.all([
      wakeup?.stop(),
      archiver?.stop(),
      sweeper.stop(),
      unknown.stop(),
      clockWatch.stop(),
      folder.stop(),
      counter.stop(),
      screener?.stop(),
      poller.stop(),
      watcher.stop(),
      returnReader?.stop(),
      dispatcher.stop(stopTimeoutMs),
    ])
    await guard.stop()
    await throttler.stop()
    const leftMs = Math.max(0, stopTimeoutMs - (performance.now() - stoppedAt))
    await Promise.all(subscribers.map((subscriber) => subscriber.stop(leftMs)))
    await supervision.stop()
    offError()
    return true
  }
  return {
    loops: parts.loops.read,
    async stop() {
      // When the network drops everything, queries never end. Each of them may be cut off, as by a crash.
      const isEnded = await Promise.race([end(), setTimeout(stopTimeoutMs + hungMs, false, { ref: false })])
      if (!isEnded) logger.warn({}, 'Postgres does not answer, so the engine stops without its final writes.')
    },
  }
}

/** An engine without a screener has no loop for it: what is held for screening waits for one that has. */
function startScreening<Tx>(
  parts: WorkParts<Tx>,
  around: { readonly guard: Guard; readonly worker: string; readonly onAnswered: () => void },
) {
  const { screening } = parts.handlers
  const { screeningConcurrency: concurrency = 16 } = parts.work
  return screening === undefined ? undefined : startScreener({ ...parts, ...around, screening, concurrency })
}

function startSubscribers<Tx>(parts: WorkParts<Tx>, pollIntervalMs: number, slowAfterMs: number) {
  const { driver, subscriptions, handlers, logger, work } = parts
  const concurrency = countHandlerLoops({
    maxConnections: driver.maxConnections,
    subscriptions: handlers.subscriptions.length,
    wanted: work.subscriptionConcurrency,
    logger,
  })
  return handlers.subscriptions.map((subscription) =>
    startSubscriber({
      store: subscriptions,
      subscription,
      logger,
      concurrency,
      pollIntervalMs,
      slowAfterMs,
      traced: handlers.traced,
      loops: parts.loops,
    }),
  )
}

/** How long statements under way may run beyond the time that requests have, when the engine stops, in milliseconds. */
const hungMs = 10_000

function readArchiveAfterMs({ retention }: WorkOptions): number | undefined {
  const days = retention?.archiveAfterDays
  if (days === undefined || (Number.isFinite(days) && days >= 0)) return days === undefined ? days : days * 86_400_000
  throw new Error(`archiveAfterDays is a number from 0 on; got ${days}.`)
}
