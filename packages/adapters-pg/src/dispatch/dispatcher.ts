import { setTimeout } from 'node:timers/promises'
import { Id, type Logger } from '@outlay/core'
import { atGateway, type Claim, type WorkHandlers } from '@outlay/core/adapter'
import { rowStateOf } from '../database/lock-timeout.ts'
import type { Throttler } from '../limits/throttler.ts'
import type { Guard } from '../operations/guard.ts'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import type { AttemptStore, FetchedJob } from './attempts.ts'
import { createHeldJobs, type HeldJobs } from './held-jobs.ts'
import { createLateAcceptances } from './late-acceptances.ts'
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
  readonly throttler: Throttler
  readonly guard: Guard
  readonly logger: Logger
  readonly loops?: LoopList | undefined
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

/** Most jobs with locked transfers that are held beside those of the slots. */
const maxLocked = 10_000

/** How long an account whose submissions hang waits before others of it are tried slowly, in milliseconds. */
const hangPauseMs = 5_000

/** Of so many fetches one asks for transfers to stopped gateways, too: the turns of the others are for those that may be sent. */
const fetchesPerStopped = 10

/** Pause while too few slots are free for a fetch to be worth it, in milliseconds. */
const refillMs = 3

/**
 * How long after a wake-up an empty queue is polled at short intervals, in milliseconds: a host announces one commit of several
 * that are close together, and the others may come just after the first was fetched.
 */
const lingerMs = 36

/** Pause behind a claim that was refused, in milliseconds: Postgres says so before it has unlocked the rows, and the next claim skips locked ones. */
const rollbackMs = 50

/** Pause while nothing may be claimed, in milliseconds. */
const heldPauseMs = 200

/** Pause between two such polls, in milliseconds. */
const lingerPauseMs = 12

/** How long writing the outcomes may take when the engine stops and every request has ended, in milliseconds. */
const lastWritesMs = 3_000

/** Without a heartbeat the job comes back, and the outcome counts as unknown. The error's message may quote the request. */
const undecided =
  (logger: Logger, { transferId, attempt }: Claim) =>
  (error: unknown): undefined => {
    const kind = error instanceof Error ? error.name : typeof error
    logger.error(
      { transferId, attempt, error: kind },
      'An attempt has no outcome; the worker sends the same key again.',
    )
  }

/** Starts a dispatcher. */
export function startDispatcher<Tx>(options: DispatcherOptions<Tx>): Dispatcher {
  const { attempts, handlers, throttler, guard, logger, loops, concurrency, onSettled } = options
  const abort = new AbortController()
  const settler = startSettler({ attempts, logger, loops, onSettled })
  const late = createLateAcceptances({ settle: attempts.settle, logger, onSettled })
  // A slot is free again when the answer has come; the job is held, and its heartbeat goes on, until the outcome is written.
  const held = createHeldJobs(attempts)
  let wokenAt = Number.NEGATIVE_INFINITY
  const worthFetching = Math.max(1, Math.floor(concurrency / 10))
  let idle: (() => void) | undefined
  const slots = startSlots(options, () => wakeWhenWorthwhile())
  const freeSlots = () => slots.free(held.size() - countAside(settler))

  const submit = async (claim: Claim, job: FetchedJob, sentAt: number) => {
    held.add(job, sentAt)
    const account = atGateway(claim)
    const leave = slots.begin(account, claim.gateway)
    await guard.ready()
    const mayBegin = () => guard.mayBegin(claim) && held.isOurs(job)
    const settlement = await handlers.submit(claim, abort.signal, mayBegin, late.record).catch(undecided(logger, claim))
    if (settlement !== undefined) await throttler.record(account, settlement)
    leave()
    wakeWhenWorthwhile(slots.room(claim.gateway))
    if (settlement !== undefined) await settler.add(settlement)
    held.delete(job)
    throttler.releasePermit(account)
    wakeWhenWorthwhile()
    // Its counterparty is registered, so the transfer itself is due.
    if (settlement?.addressId !== undefined) fetching.wake()
    if (held.size() === 0) idle?.()
  }
  const wakeWhenWorthwhile = (room?: number) => {
    if ([freeSlots(), room].includes(worthFetching) || slots.busy() === 0) fetching.wake()
  }
  const choice = createFetchChoice(options, slots, worthFetching)
  const fetching = startLoop({
    name: 'dispatch',
    logger,
    loops,
    async turn() {
      const asked = choice.next(freeSlots())
      if (!guard.mayClaim()) return Math.min(options.pollIntervalMs, heldPauseMs)
      if (asked === undefined) return options.pollIntervalMs
      let sentAt = performance.now()
      const jobs = await attempts.fetch(asked.batchSize, options.worker, asked.handlers, () => {
        sentAt = performance.now()
      })
      choice.note(jobs.length)
      if (jobs.length === 0) return performance.now() - wokenAt < lingerMs ? lingerPauseMs : options.pollIntervalMs
      await begin(options, jobs, (claim, job) => void submit(claim, job, sentAt))
      return jobs.length < asked.batchSize ? refillMs : 0
    },
  })
  const heart = startHeart(held, options)
  return {
    wake() {
      wokenAt = performance.now()
      fetching.wake()
    },
    async stop(timeoutMs) {
      await fetching.stop()
      const ended = held.size() === 0 ? Promise.resolve() : new Promise<void>((resolve) => (idle = resolve))
      await withinTime(abort, timeoutMs, ended).finally(late.stop)
      if (held.size() > 0)
        logger.warn({ transfers: held.size() }, 'Some outcomes could not be written; a worker sends their keys again.')
      await heart.stop()
      await settler.stop()
    },
  }
}

/** Makes the slots; throttles an account whose submissions hang. */
function startSlots<Tx>(
  { concurrency, slowAfterMs, handlers, throttler, logger }: DispatcherOptions<Tx>,
  onFree: () => void,
): Slots {
  return createSlots({
    concurrency,
    gateways: handlers.gateways.length,
    slowAfterMs,
    onFree,
    onHang(accountId) {
      if (throttler.isThrottled(accountId)) return
      logger.warn({ accountId }, 'Submissions of an account hang; the engine throttles it, so that others go on.')
      void throttler.slowDown(accountId, hangPauseMs)
    },
  })
}

/**
 * Chooses what to fetch: nothing while little may begin. It passes over transfers to a gateway that hangs, and mostly over those to a
 * stopped one, and asks for no more than the share of another allows.
 */
function createFetchChoice<Tx>({ handlers, guard }: DispatcherOptions<Tx>, { room }: Slots, worthFetching: number) {
  let fetches = 0
  const isAsked = (gateway: string) => fetches % fetchesPerStopped === 0 || !guard.isStopped(gateway)
  return {
    next(free: number) {
      const gateways = handlers.gateways.filter((gateway) => room(gateway) >= worthFetching && isAsked(gateway))
      if (free < worthFetching || gateways.length === 0) return undefined
      return { handlers: { ...handlers, gateways }, batchSize: Math.min(free, maxFetch, ...gateways.map(room)) }
    },
    /** Counts a fetch. Where nothing is left that may be sent, what may not can be held at once. */
    note(jobs: number) {
      fetches = jobs === 0 ? 0 : fetches + 1
    },
  }
}

/** Outcomes that wait for a host's transaction: they must not keep the others from being sent. */
const countAside = (settler: Settler): number => Math.min(maxLocked, settler.locked())

/** Submits the transfers of fetched jobs, and first claims those that were not claimed with their jobs. */
async function begin<Tx>(
  options: DispatcherOptions<Tx>,
  jobs: readonly FetchedJob[],
  submit: (claim: Claim, job: FetchedJob) => void,
): Promise<void> {
  const byId = new Map<string, FetchedJob>()
  for (const job of jobs) {
    if (job.claim === undefined) byId.set(Id.fromUuid(job.id), job)
    else submit(job.claim, job)
  }
  if (byId.size === 0) return
  await claimApart(options, [...byId.values()], (claims) => {
    for (const claim of claims) {
      const job = byId.get(claim.transferId)
      byId.delete(claim.transferId)
      if (job !== undefined) submit(claim, job)
    }
  })
  // The remaining transfers were submitted by an earlier attempt and have no job any more, or they wait.
  if (byId.size > 0) options.throttler.expectWaiting()
}

/**
 * Claims transfers together, or one by one where Postgres refuses that for what may be one of them, as a trigger of the host makes it do. What is
 * claimed is handed over at once. The job of one that is refused has no heartbeat, and so comes back.
 */
async function claimApart<Tx>(
  { attempts, worker, handlers, logger }: DispatcherOptions<Tx>,
  jobs: readonly FetchedJob[],
  onClaimed: (claims: readonly Claim[]) => void,
): Promise<void> {
  // The state of the refusal, if it is refused.
  const claim = async (some: readonly FetchedJob[]): Promise<string | undefined> => {
    try {
      onClaimed(await attempts.claim(some, worker, handlers))
      return undefined
    } catch (error) {
      const code = rowStateOf(error)
      if (code === undefined) throw error
      return code
    }
  }
  if ((await claim(jobs)) === undefined) return
  await setTimeout(rollbackMs)
  for (const job of jobs) {
    const code = await claim([job])
    if (code === undefined) continue
    const fields = { transferId: Id.fromUuid(job.id), code }
    logger.error(
      fields,
      'Postgres refuses the claim of a transfer, as a trigger of the host may; it is claimed again later.',
    )
  }
}

/**
 * Waits for submissions under way to end, and aborts them when the time is up. An outcome that is not written soon after that
 * has no database to be written to, and is not waited for.
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
function startHeart(held: HeldJobs, { logger, loops }: Pick<DispatcherOptions<never>, 'logger' | 'loops'>): Loop {
  return startLoop({
    name: 'heartbeat',
    logger,
    loops,
    async turn() {
      const beganAt = performance.now()
      await held.keepAlive()
      // On a busy pool it has waited for its connections already.
      return Math.max(0, heartbeatIntervalMs - (performance.now() - beganAt))
    },
  })
}
