import type { Logger } from '@outlay/core'
import { type AuditChainerOptions, startAuditChainer } from '../control/audit-chainer.ts'
import type { ExpiredHoldStore } from '../control/expired-holds.ts'
import type { LimitSweepStore } from '../control/limit-sweeps.ts'
import type { AttemptStore } from '../dispatch/attempts.ts'
import type { GatewayStore } from '../dispatch/gateways.ts'
import type { CredentialStore } from '../limits/credentials.ts'
import type { Guard } from '../operations/guard.ts'
import type { PollStore } from '../polling/polls.ts'
import type { CounterpartyStore } from '../transfers/counterparties.ts'
import type { TransferStore } from '../transfers/transfers.ts'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import { startLimitSweeper } from './limit-sweeper.ts'

/** Pause between sweeps, in milliseconds. */
const pauseMs = 30_000

/** Pause after a page of a sweep, as a multiple of the time that it took: a sweep of a long backlog takes minutes. */
const restPerPage = 20

/** Pause between checks for transfers that missed the arrival of their funds or the end of a pause, in milliseconds. */
const releasesPauseMs = 2_000

/** Pause between checks for held transfers whose time to be sent has passed, in milliseconds. */
const expiryPauseMs = 10_000

/** Held transfers ended in one statement. */
const expiredAtOnce = 500

/** Pause between checks for many due transfers, in milliseconds. */
const duePauseMs = 500

/** Pause between checks for due probes, restored credentials and ids that became known, in milliseconds. */
const newsPauseMs = 1_000

/** Pause between checks for details of counterparties that are no longer needed, in milliseconds. */
const wipePauseMs = 600_000

/** Pause between two times that a worker says which gateways it has, in milliseconds. */
const gatewaysPauseMs = 15_000

/** Transfers checked in one statement. */
const pageSize = 5_000

/** Most transfers of others that are adopted in one transaction. */
const adoptedAtOnce = 500

/** What a sweeper works with. */
export interface SweeperOptions<Tx> {
  readonly attempts: AttemptStore
  readonly transfers: TransferStore<Tx>
  readonly credentials: CredentialStore
  readonly polls: PollStore
  readonly counterparties: CounterpartyStore<Tx>
  readonly expiredHolds: ExpiredHoldStore
  readonly guard: Pick<Guard, 'isFamiliar'>
  readonly logger: Logger
  readonly loops?: LoopList | undefined
  readonly gateways: GatewayStore
  readonly limits: LimitSweepStore
  readonly audit: AuditChainerOptions['audit']
  readonly handlers: { readonly decideReturnReading?: unknown; readonly gateways: readonly string[] }
}

/**
 * Starts the loops that find transfers whose wait is over: they give a job to every unsubmitted transfer that lost its own,
 * make due ones ready, end held ones whose time has passed, release transfers that missed their funds, release transfers with restored credentials, poll transfers with an early
 * observation, and adopt transfers of others that have no row here. One more wipes details of counterparties after their time, one
 * says which gateways this worker has, one releases what fits the limits on sums again, and one adds entries of the audit to its chain.
 */
export function startSweeper<Tx>(options: SweeperOptions<Tx>): Loop {
  const loops = [
    startJobs(options),
    startDue(options),
    startReleases(options),
    startExpiry(options),
    startCredentials(options),
    ...startFindings(options),
    startWiping(options),
    startGateways(options),
    startLimitSweeper(options),
    startAuditChainer(options),
  ]
  return {
    wake() {
      for (const loop of loops) loop.wake()
    },
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}

function startJobs<Tx>({ attempts, credentials, logger, loops }: SweeperOptions<Tx>): Loop {
  let after = ''
  return startLoop({
    name: 'sweep',
    logger,
    loops,
    async turn() {
      const startedAt = performance.now()
      const { repaired, last } = await sweepPage(attempts, after)
      if (repaired > 0) logger.warn({ repaired }, 'Some transfers had lost their jobs; the sweep gave them new ones.')
      after = last
      if (last !== '') return (performance.now() - startedAt) * restPerPage
      await credentials.forgetUnused()
      return pauseMs
    },
  })
}

/** A fetch makes some that are due ready; so many may be due at once that later ones of other accounts would wait for many fetches. */
function startDue<Tx>({ attempts, logger, loops }: SweeperOptions<Tx>): Loop {
  return startLoop({
    name: 'sweep due',
    logger,
    loops,
    turn: async () => ((await attempts.makeDueReady()) ? 0 : duePauseMs),
  })
}

function startReleases<Tx>({ transfers, logger, loops }: SweeperOptions<Tx>): Loop {
  return startLoop({
    name: 'sweep releases',
    logger,
    loops,
    async turn() {
      await transfers.releaseMissed()
      await transfers.releaseResumed()
      return releasesPauseMs
    },
  })
}

/** No worker claims a held transfer, so nothing else finds out that nobody has released it in time. */
function startExpiry<Tx>({ expiredHolds, guard, logger, loops }: SweeperOptions<Tx>): Loop {
  return startLoop({
    name: 'sweep expired holds',
    logger,
    loops,
    async turn() {
      // In a copy, and after a restore, one that is held may have been paid.
      if (!guard.isFamiliar()) return newsPauseMs
      const ended = await expiredHolds.expire(expiredAtOnce)
      if (ended > 0) logger.warn({ ended }, 'Some held transfers were not released in time; they failed as expired.')
      return ended === expiredAtOnce ? 0 : expiryPauseMs
    },
  })
}

function startCredentials<Tx>({ credentials, logger, handlers, loops }: SweeperOptions<Tx>): Loop {
  return startLoop({
    name: 'sweep credentials',
    logger,
    loops,
    async turn() {
      await credentials.wakeProbes(handlers.gateways)
      return (await credentials.releaseRestored()) ? 0 : newsPauseMs
    },
  })
}

function startFindings<Tx>({ polls, transfers, guard, logger, loops, handlers }: SweeperOptions<Tx>): readonly Loop[] {
  const earlyObservations = startLoop({
    name: 'sweep early observations',
    logger,
    loops,
    async turn() {
      await polls.applyEarlyObservations(handlers.decideReturnReading !== undefined)
      return newsPauseMs
    },
  })
  const adoptions = startLoop({
    name: 'sweep found transfers',
    logger,
    loops,
    async turn() {
      // In a copy, and after a restore, a transfer that was sent from here may seem to be one of others.
      if (!guard.isFamiliar()) return newsPauseMs
      const { ids, failed } = await transfers.adoptFound(adoptedAtOnce)
      if (ids.length > 0) logger.info({ adopted: ids.length }, 'The engine adopted some transfers of others.')
      for (const one of failed) {
        logger.warn(
          { ...one },
          'A transfer of others cannot be adopted as it was found; its problem is in found_transfer.',
        )
      }
      return ids.length + failed.length === adoptedAtOnce ? 0 : newsPauseMs
    },
  })
  return [earlyObservations, adoptions]
}

function startWiping<Tx>({ counterparties, logger, loops }: SweeperOptions<Tx>): Loop {
  return startLoop({
    name: 'wipe counterparties',
    logger,
    loops,
    async turn() {
      await counterparties.wipeEnded()
      return wipePauseMs
    },
  })
}

/** Says which gateways this worker has, and warns once when it starts of those that none has. */
function startGateways<Tx>({ gateways, logger, loops, handlers }: SweeperOptions<Tx>): Loop {
  let isChecked = false
  return startLoop({
    name: 'gateways',
    logger,
    loops,
    async turn() {
      const released = await gateways.attend(handlers.gateways)
      if (!isChecked) {
        for (const { gateway, transfers, sample } of await gateways.unattended()) {
          logger.warn(
            { gateway, transfers, sample, known: handlers.gateways },
            'Transfers wait for a gateway that no worker has; nothing sends them elsewhere. Start an engine with it.',
          )
        }
        isChecked = true
      }
      return released === 0 ? gatewaysPauseMs : 0
    },
  })
}

/** Gives a job to every transfer of a page that waits for one and has none; `last` is empty when there is no other page. */
async function sweepPage(attempts: AttemptStore, after: string): Promise<{ repaired: number; last: string }> {
  const ids = await attempts.unsubmittedAfter(after, pageSize)
  const repaired = ids.length === 0 ? 0 : await attempts.ensureJobs(ids)
  return { repaired, last: ids.length < pageSize ? '' : (ids.at(-1) ?? '') }
}
