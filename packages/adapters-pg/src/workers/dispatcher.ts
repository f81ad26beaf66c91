import { setTimeout } from 'node:timers/promises'
import { type Claim, Id, type Logger, type WorkHandlers } from '@outlay/core'
import type { AttemptStore, FetchedJob } from '../attempts.ts'
import type { Guard } from './guard.ts'
import { type Loop, startLoop } from './loop.ts'
import type { Pacer } from './pacer.ts'
import { type Settler, startSettler } from './settler.ts'
import { createSlots, type Slots } from './slots.ts'

/** Keeps a number of transfers under way at once, refilling each slot as soon as it is free. */
export interface Dispatcher {
  wake(): void
  stop(timeoutMs: number): Promise<void>
}

/** What a dispatcher works with. */
export interface DispatcherOptions<Tx> {
  readonly attempts: AttemptStore
  readonly handlers: WorkHandlers<Tx>
  readonly pacer: Pacer
  readonly guard: Guard
  readonly logger: Logger
  /** Name of this worker in the attempts log. */
  readonly worker: string
  readonly concurrency: number
  readonly pollIntervalMs: number
  /** A submission that takes longer is slow, in milliseconds. */
  readonly slowAfterMs: number
  readonly onSettled: () => void
}

/** Most jobs in one fetch. */
const maxFetch = 200

/** How often the jobs under way are kept alive, in milliseconds. */
const heartbeatIntervalMs = 3_000

/** Most jobs whose transfers somebody has locked that are held beside those of the slots. */
const maxLocked = 10_000

/** How long an account waits whose submissions hang, before others of it are tried slowly, in milliseconds. */
const hangPauseMs = 5_000

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
  let wokenAt = Number.NEGATIVE_INFINITY
  const worthFetching = Math.max(1, Math.floor(concurrency / 10))
  let idle: (() => void) | undefined
  const slots = startSlots(options, () => wakeWhenWorthwhile())
  const freeSlots = () => slots.free(held.size - countAside(settler))

  const submit = async (claim: Claim, job: FetchedJob) => {
    held.add(job)
    const leave = slots.begin(claim.accountId)
    await guard.ready()
    const mayBegin = () => guard.mayBegin(claim.accountId)
    const settlement = await handlers.submit(claim, abort.signal, mayBegin).catch(undecided(logger, claim))
    if (settlement !== undefined) await pacer.hear(claim.accountId, settlement)
    leave()
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
    if (freeSlots() === worthFetching || slots.busy() === 0) fetching.wake()
  }

  const fetching = startLoop({
    name: 'dispatch',
    logger,
    async turn() {
      const free = freeSlots()
      if (!guard.mayClaim()) return Math.min(options.pollIntervalMs, heldPauseMs)
      if (free < worthFetching) return options.pollIntervalMs
      const batchSize = Math.min(free, maxFetch)
      const jobs = await attempts.fetch(batchSize, options.worker, handlers)
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

/** Makes the slots; an account whose submissions hang is slowed down. */
function startSlots<Tx>({ concurrency, slowAfterMs, pacer, logger }: DispatcherOptions<Tx>, onFree: () => void): Slots {
  return createSlots({
    concurrency,
    slowAfterMs,
    onFree,
    onHang(accountId) {
      if (pacer.isHeld(accountId)) return
      logger.warn({ accountId }, 'Submissions of an account hang; it is slowed down, so that others go on.')
      void pacer.slowDown(accountId, hangPauseMs)
    },
  })
}

/** Outcomes that wait for a host's transaction: they must not keep the others from being sent. */
const countAside = (settler: Settler): number => Math.min(maxLocked, settler.locked())

/** Submits the transfers of fetched jobs, and claims those first that could not be taken with their jobs. */
async function begin<Tx>(
  { attempts, handlers, pacer, worker }: DispatcherOptions<Tx>,
  jobs: readonly FetchedJob[],
  submit: (claim: Claim, job: FetchedJob) => void,
): Promise<void> {
  const byId = new Map<string, FetchedJob>()
  for (const job of jobs) {
    if (job.claim === undefined) byId.set(Id.fromUuid(job.id), job)
    else submit(job.claim, job)
  }
  if (byId.size === 0) return
  const claims = await attempts.claim([...byId.keys()], worker, handlers)
  for (const claim of claims) {
    const job = byId.get(claim.transferId)
    byId.delete(claim.transferId)
    if (job !== undefined) submit(claim, job)
  }
  // What is left was submitted by an earlier attempt whose job came back, and has no job any more, or waits.
  if (byId.size > 0) pacer.expectWaiting()
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
