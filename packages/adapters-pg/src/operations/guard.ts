import { setTimeout as wait } from 'node:timers/promises'
import { type Logger, OutlayError } from '@outlay/core'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import type { CheckIdentity, IdentityState } from './operations.ts'

/** Knows whether anything may be sent, from a read at most a second old. */
export interface Guard extends Pick<Loop, 'wake' | 'stop'> {
  /** True when this is the database that workers know, and no restore of it. */
  isFamiliar(): boolean
  /** True when transfers may be claimed. */
  mayClaim(): boolean
  /** True when the gateway was stopped by the last read. */
  isStopped(gateway: string): boolean
  /** True when a request for the account may begin at the gateway now. Asked as late as possible. */
  mayBegin(at: { readonly gateway: string; readonly accountId: string }): boolean
  /** Resolves when the last read is recent enough, or when that takes too long. */
  ready(): Promise<void> | undefined
}

/** What a guard works with. */
export interface GuardOptions {
  readonly checkIdentity: CheckIdentity
  readonly deployment: string | undefined
  readonly environment: string | undefined
  /** Names of the gateways of the worker. */
  readonly gateways: readonly string[]
  readonly logger: Logger
  readonly loops?: LoopList | undefined
}

/** Pause between two reads, in milliseconds. */
const pauseMs = 400

/**
 * For how long a read counts, from when it was sent, in milliseconds: after that, a stop holds in every worker. What is read cannot be
 * older than that; the wait for a connection before is no part of it.
 */
const validMs = 1_000

/** How long a request waits for a newer read before its transfer goes back to the queue, in milliseconds. */
const patienceMs = 5_000

/** Most reads at once, where callers of the pool wait long for a connection. */
const maxReads = 8

/**
 * Starts a guard with a first read.
 * @throws OutlayError `environment_mismatch` when the database belongs to another environment than the gateway.
 */
export async function startGuard(options: GuardOptions): Promise<Guard> {
  const { checkIdentity, deployment, environment, gateways, logger } = options
  let known: IdentityState | undefined
  let knownAt = Number.NEGATIVE_INFINITY
  let reported = ''
  let waiting: (() => void)[] = []
  const stopped = { account: new Set<string>(), gateway: new Set<string>() }
  let isAllStopped = true

  const read = async (onSent: () => void) => {
    let sentAt = performance.now()
    const state = await checkIdentity(deployment, environment, known?.knownDatabase?.seenAt ?? null, () => {
      sentAt = performance.now()
      onSent()
    })
    if (sentAt < knownAt) return
    known = state
    knownAt = sentAt
    const { unfamiliar, fence, stops, knownDatabase } = known
    const isMisplaced = environment !== undefined && knownDatabase !== null && knownDatabase.environment !== environment
    // While another transaction is about to write the first row, this database is not identified.
    isAllStopped =
      knownDatabase === null || unfamiliar !== null || fence !== null || isMisplaced || isWholeStopped(stops, gateways)
    for (const scope of ['account', 'gateway'] as const) {
      stopped[scope] = new Set(stops.flatMap((stop) => (stop.scope === scope && stop.name !== null ? [stop.name] : [])))
    }
    reported = report(known, { deployment, gateways }, reported, logger)
    const notified = waiting
    waiting = []
    for (const done of notified) done()
  }
  const isYoung = () => performance.now() - knownAt <= validMs
  let saysWhenSent = false
  await read(() => {
    saysWhenSent = true
  })
  checkEnvironment(known, environment)
  const loop = startReads(read, saysWhenSent, options)
  return {
    wake: loop.wake,
    stop: loop.stop,
    isFamiliar: () => known?.unfamiliar === null && known.fence === null && isYoung(),
    mayClaim: () => !isAllStopped && isYoung(),
    isStopped: (gateway) => stopped.gateway.has(gateway),
    mayBegin: ({ gateway, accountId }) =>
      !isAllStopped && isYoung() && !stopped.account.has(accountId) && !stopped.gateway.has(gateway),
    ready() {
      if (isYoung()) return undefined
      loop.wake()
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, patienceMs)
        waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    },
  }
}

/**
 * Reads again and again. While a read waits for a connection, further ones wait behind it, so that what is known stays young on a pool
 * where each caller waits for longer than a read counts.
 */
function startReads(
  read: (onSent: () => void) => Promise<void>,
  saysWhenSent: boolean,
  { logger, loops }: Pick<GuardOptions, 'logger' | 'loops'>,
): Loop {
  const reads = new Set<Promise<void>>()
  const loop = startLoop({
    name: 'guard',
    logger,
    loops,
    async turn() {
      let isSent = !saysWhenSent
      const reading = read(() => {
        isSent = true
      }).finally(() => reads.delete(reading))
      reads.add(reading)
      // When it fails late, so do those behind it, and one of them is reported.
      reading.catch(() => undefined)
      await Promise.race([reading, wait(pauseMs, undefined, { ref: false })])
      if (!reads.has(reading)) return pauseMs
      if (isSent) await reading
      else if (reads.size >= maxReads) await Promise.race(reads)
      return isSent ? pauseMs : 0
    },
  })
  return {
    wake: () => loop.wake(),
    async stop() {
      await loop.stop()
      await Promise.allSettled(reads)
    },
  }
}

function checkEnvironment(known: IdentityState | undefined, environment: string | undefined): void {
  const stored = known?.knownDatabase?.environment ?? null
  if (stored === null || stored === environment) return
  const declared = environment === undefined ? 'declares no environment' : `is for ${environment}`
  throw new OutlayError(
    'environment_mismatch',
    `This database belongs to ${stored}, and the gateway of this engine ${declared}; give the engine the gateway of ${stored}, or a database of its own.`,
    { field: 'gateway.environment' },
  )
}

/** True when everything is stopped, or each of these gateways. */
function isWholeStopped(stops: IdentityState['stops'], gateways: readonly string[]): boolean {
  const names = new Set(stops.flatMap(({ scope, name }) => (scope === 'gateway' && name !== null ? [name] : [])))
  return stops.some(({ scope }) => scope === 'all') || gateways.every((name) => names.has(name))
}

/** Logs once what keeps everything from being sent, and once when that is over. Returns what it logged. */
function report(
  known: IdentityState,
  { deployment, gateways }: Pick<GuardOptions, 'deployment' | 'gateways'>,
  reported: string,
  logger: Logger,
): string {
  const { unfamiliar, fence, stops, knownDatabase, news } = known
  if (news === 'failed_over')
    logger.warn({ timeline: knownDatabase?.timeline }, 'A standby has become the primary; sending goes on.')
  const now = unfamiliar ?? (fence !== null ? 'fenced' : isWholeStopped(stops, gateways) ? 'stopped' : '')
  if (now === reported) return reported
  if (unfamiliar !== null) {
    const fields = {
      why: unfamiliar,
      known: knownDatabase?.database,
      deployment: knownDatabase?.deployment,
      configured: deployment,
    }
    const isNamed = unfamiliar === 'other_deployment'
    logger.error(fields, isNamed ? sayDeployment(knownDatabase?.deployment, deployment) : unfamiliarDatabase)
  } else if (fence !== null) {
    logger.error(
      { ...fence },
      'This database was restored or fenced, so the service may be ahead of it: nothing is sent. Run "outlay reconcile --since <time>".',
    )
  } else if (now === 'stopped') {
    logger.warn({ stops: stops.length }, 'Sending is stopped by an operator. It goes on after "outlay start-sending".')
  } else {
    logger.info({}, 'Transfers are sent again.')
  }
  return now
}

const unfamiliarDatabase =
  'This database is a copy, or it was moved: nothing is sent from here. If it is the one to pay from, run "outlay adopt-database".'

/** What keeps a worker from sending whose deployment has another name than the one that the database has, or a name where others have none. */
function sayDeployment(known: string | null | undefined, configured: string | undefined): string {
  // A mistyped name stops only its own worker.
  if (known === null || known === undefined)
    return 'Workers without the name of a deployment are at work here, so this worker, which has a name, sends nothing. It goes on when they have stopped, or when "outlay adopt-database --moved --deployment <name>" gives them the name.'
  const own = configured === undefined ? 'has no name of a deployment' : `is of the deployment "${configured}"`
  return `This database belongs to the deployment "${known}", and this engine ${own}: nothing is sent from here. If it is of that deployment, give postgres() the option deployment: '${known}'. If the database is a copy that is to pay from now on, run "outlay adopt-database".`
}
