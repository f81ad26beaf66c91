import { type Logger, OutlayError } from '@outlay/core'
import type { Recognition, Recognize } from '../operations.ts'
import { type Loop, startLoop } from './loop.ts'

/** Knows whether anything may be sent, as it was at most a second ago. */
export interface Guard extends Pick<Loop, 'wake' | 'stop'> {
  /** True when this is the database that workers know, and no restore of it. */
  isAtHome(): boolean
  /** True when transfers may be claimed. */
  mayClaim(): boolean
  /** True when a request for the account may begin now. Asked as late as possible. */
  mayBegin(accountId: string): boolean
  /** Resolves when what is known is young enough, or when that takes too long. */
  ready(): Promise<void> | undefined
}

/** What a guard works with. */
export interface GuardOptions {
  readonly recognize: Recognize
  readonly deployment: string | undefined
  readonly environment: string | undefined
  readonly logger: Logger
}

/** Pause between two readings, in milliseconds. */
const pauseMs = 400

/** For how long a reading counts from when it was asked for, in milliseconds: a stop holds in every worker after that. */
const validMs = 1_000

/** How long a request waits for a younger reading before its transfer is put back, in milliseconds. */
const patienceMs = 5_000

/**
 * Starts a guard with a first reading.
 * @throws OutlayError `environment_mismatch` when the database belongs to another environment than the gateway.
 */
export async function startGuard(options: GuardOptions): Promise<Guard> {
  const { recognize, deployment, environment, logger } = options
  let known: Recognition | undefined
  let knownAt = Number.NEGATIVE_INFINITY
  let told = ''
  let waiting: (() => void)[] = []
  const stopped = new Set<string>()
  let isAllStopped = true

  const read = async () => {
    const askedAt = performance.now()
    known = await recognize(deployment, environment, known?.home?.seenAt ?? null)
    knownAt = askedAt
    const { unfamiliar, fence, stops, home } = known
    const isMisplaced = environment !== undefined && home !== null && home.environment !== environment
    // While somebody is about to write the first home, nobody knows where this is.
    isAllStopped =
      home === null ||
      unfamiliar !== null ||
      fence !== null ||
      isMisplaced ||
      stops.some(({ scope }) => scope !== 'account')
    stopped.clear()
    for (const { scope, name } of stops) if (scope === 'account' && name !== null) stopped.add(name)
    told = tell(known, deployment, told, logger)
    const heard = waiting
    waiting = []
    for (const done of heard) done()
  }
  const isYoung = () => performance.now() - knownAt <= validMs
  await read()
  checkEnvironment(known, environment)
  const loop = startLoop({
    name: 'guard',
    logger,
    async turn() {
      await read()
      return pauseMs
    },
  })
  return {
    wake: () => loop.wake(),
    stop: () => loop.stop(),
    isAtHome: () => known?.unfamiliar === null && known.fence === null && isYoung(),
    mayClaim: () => !isAllStopped && isYoung(),
    mayBegin: (accountId) => !isAllStopped && isYoung() && !stopped.has(accountId),
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

function checkEnvironment(known: Recognition | undefined, environment: string | undefined): void {
  const stored = known?.home?.environment ?? null
  if (stored === null || stored === environment) return
  const declared = environment === undefined ? 'declares no environment' : `is for ${environment}`
  throw new OutlayError(
    'environment_mismatch',
    `This database belongs to ${stored}, and the gateway of this engine ${declared}; give the engine the gateway of ${stored}, or a database of its own.`,
    { field: 'gateway.environment' },
  )
}

/** Says once what keeps everything from being sent, and when that is over. Answers with what was said. */
function tell(known: Recognition, deployment: string | undefined, told: string, logger: Logger): string {
  const { unfamiliar, fence, stops, home, news } = known
  if (news === 'failed_over')
    logger.warn({ timeline: home?.timeline }, 'A standby has become the primary; sending goes on.')
  const now =
    unfamiliar ?? (fence !== null ? 'fenced' : stops.some(({ scope }) => scope !== 'account') ? 'stopped' : '')
  if (now === told) return told
  if (unfamiliar !== null) {
    const fields = { why: unfamiliar, home: home?.database, deployment: home?.deployment, configured: deployment }
    // Nobody else is stopped by a name that is mistyped.
    const isUnnamed = unfamiliar === 'other_deployment' && home?.deployment === null
    logger.error(
      fields,
      isUnnamed
        ? 'Workers without the name of a deployment are at work here, so nothing is sent by this one, which has a name. It goes on when they have stopped, or when "outlay adopt-database --moved --deployment <name>" gives them the name.'
        : 'This database is a copy, or it was moved: nothing is sent from here. If it is the one to pay from, run "outlay adopt-database".',
    )
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
