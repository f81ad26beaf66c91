import { setTimeout } from 'node:timers/promises'
import { type Claim, Id, type Logger, type WorkHandlers } from '@outlay/core'
import type { PgBoss } from 'pg-boss'
import type { AttemptStore, FetchedJob } from '../attempts.ts'
import { submitQueue } from '../queue.ts'
import type { Guard } from './guard.ts'
import { type Loop, startLoop } from './loop.ts'
import type { Pacer } from './pacer.ts'
import { startSettler } from './settler.ts'

/** Keeps a number of transfers under way at once, refilling each slot as soon as it is free. */
export interface Dispatcher {
  wake(): void
  stop(timeoutMs: number): Promise<void>
}

/** What a dispatcher works with. */
export interface DispatcherOptions<Tx> {
  readonly boss: PgBoss
  readonly attempts: AttemptStore
  readonly handlers: WorkHandlers<Tx>
  readonly pacer: Pacer
  readonly guard: Guard
  readonly logger: Logger
  /** Name of this worker in the attempts log. */
  readonly worker: string
  readonly concurrency: number
  readonly pollIntervalMs: number
  readonly onSettled: () => void
}

/** Most jobs in one fetch. */
const maxFetch = 200

/** How often the jobs under way are kept alive, in milliseconds. */
const heartbeatIntervalMs = 3_000

/** Jobs that may be held for each slot, those included whose answers are not written yet. */
const maxHeldPerSlot = 3

/** Pause while too few slots are free for a fetch to be worth it, in milliseconds. */
const refillMs = 3

/**
 * How long after a wake-up an empty queue is looked at again soon, in milliseconds: a host announces one commit of several
 * that are close together, and the others may come just after the first was fetched.
 */
const lingerMs = 36

/** Pause while nothing may be claimed, in milliseconds. */
const heldPauseMs = 200

/** Pause between two such looks, in milliseconds. */
const lingerPauseMs = 12

/** How long outcomes may take to be written when the engine stops and every request has ended, in milliseconds. */
const lastWritesMs = 3_000

/** Without a heartbeat the job comes back, and the outcome counts as unknown. What the error says may quote the request. */
const undecided =
  (logger: Logger, { transferId, attempt }: Claim) =>
  (error: unknown): undefined => {
    const kind = error instanceof Error ? error.name : typeof error
    logger.error({ transferId, attempt, error: kind }, 'An attempt was not decided on; the same key goes out again.')
  }

/** Starts a dispatcher. */
export function startDispatcher<Tx>(options: DispatcherOptions<Tx>): Dispatcher {
  const { attempts, handlers, pacer, guard, logger, concurrency } = options
  const abort = new AbortController()
  const settler = startSettler({ attempts, logger, onSettled: options.onSettled })
  // A slot is free again when the answer is there; the job is held, and its heartbeat goes on, until that is written.
  const held = new Set<FetchedJob>()
  let busy = 0
  let wokenAt = Number.NEGATIVE_INFINITY
  const worthFetching = Math.max(1, Math.floor(concurrency / 10))
  let idle: (() => void) | undefined
  const freeSlots = () => Math.min(concurrency - busy, maxHeldPerSlot * concurrency - held.size)

  const submit = async (claim: Claim, job: FetchedJob) => {
    held.add(job)
    busy += 1
    await guard.ready()
    const mayBegin = () => guard.mayBegin(claim.accountId)
    const settlement = await handlers.submit(claim, abort.signal, mayBegin).catch(undecided(logger, claim))
    if (settlement !== undefined) await pacer.hear(claim.accountId, settlement)
    busy -= 1
    wakeWhenWorthwhile()
    if (settlement !== undefined) await settler.add(settlement)
    held.delete(job)
    pacer.makeRoom(claim.accountId)
    wakeWhenWorthwhile()
    // Its counterparty is registered, so the transfer itself is due.
    if (settlement?.addressId !== undefined) fetching.wake()
    if (held.size === 0) idle?.()
  }
  const wakeWhenWorthwhile = () => {
    if (freeSlots() === worthFetching || busy === 0) fetching.wake()
  }

  const fetching = startLoop({
    name: 'dispatch',
    logger,
    async turn() {
      const free = freeSlots()
      if (!guard.mayClaim()) return Math.min(options.pollIntervalMs, heldPauseMs)
      if (free < worthFetching) return options.pollIntervalMs
      const batchSize = Math.min(free, maxFetch)
      const jobs = await attempts.fetch(batchSize, options.worker, handlers.traced)
      if (jobs.length === 0) return performance.now() - wokenAt < lingerMs ? lingerPauseMs : options.pollIntervalMs
      await begin(options, jobs, (claim, job) => void submit(claim, job))
      return jobs.length < batchSize ? refillMs : 0
    },
  })

  const heart = startHeart(attempts, held, logger)

  return {
    wake() {
      wokenAt = performance.now()
      fetching.wake()
    },
    async stop(timeoutMs) {
      await fetching.stop()
      const ended = held.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => (idle = resolve))
      await withinTime(abort, timeoutMs, ended)
      if (held.size > 0)
        logger.warn({ transfers: held.size }, 'Not every outcome could be written; their keys go out again.')
      await heart.stop()
      await settler.stop()
    },
  }
}

/** Submits the transfers of fetched jobs, and claims those first that could not be taken with their jobs. */
async function begin<Tx>(
  { boss, attempts, handlers, pacer, worker }: DispatcherOptions<Tx>,
  jobs: readonly FetchedJob[],
  submit: (claim: Claim, job: FetchedJob) => void,
): Promise<void> {
  const byId = new Map<string, FetchedJob>()
  for (const job of jobs) {
    if (job.claim === undefined) byId.set(Id.fromUuid(job.id), job)
    else submit(job.claim, job)
  }
  if (byId.size === 0) return
  const claims = await attempts.claim([...byId.keys()], worker, handlers.traced)
  for (const claim of claims) {
    const job = byId.get(claim.transferId)
    byId.delete(claim.transferId)
    if (job !== undefined) submit(claim, job)
  }
  if (byId.size === 0) return
  // Submitted by an earlier attempt whose job came back, or waiting; the job of what waits is not active.
  pacer.expectWaiting()
  await boss.deleteJob(submitQueue, [...byId.values()])
}

/**
 * Waits for what is under way to end by itself, and aborts it when the time is up. What is then not written soon has no
 * database to be written to, and waits no longer.
 */
async function withinTime(abort: AbortController, timeoutMs: number, ended: Promise<void>): Promise<void> {
  const stopped = new AbortController()
  const wait = (ms: number) => setTimeout(ms, undefined, { signal: stopped.signal })
  const giveUp = async () => {
    await wait(timeoutMs)
    abort.abort(new Error('The engine stops.'))
    await wait(lastWritesMs)
  }
  await Promise.race([ended, giveUp()])
  stopped.abort()
}

/** Keeps the claims of held jobs alive. */
function startHeart(attempts: AttemptStore, held: ReadonlySet<FetchedJob>, logger: Logger): Loop {
  return startLoop({
    name: 'heartbeat',
    logger,
    async turn() {
      const jobs = [...held]
      if (jobs.length > 0) await attempts.touch(jobs)
      return heartbeatIntervalMs
    },
  })
}
