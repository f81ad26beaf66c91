import type { Logger } from '@outlay/core'
import type { AttemptStore } from '../attempts.ts'
import type { CounterpartyStore } from '../counterparties.ts'
import type { CredentialStore } from '../credentials.ts'
import type { LookStore } from '../looks.ts'
import type { TransferStore } from '../transfers.ts'
import { type Loop, startLoop } from './loop.ts'

/** Pause between sweeps, in milliseconds. */
const pauseMs = 30_000

/** Pause between looks for transfers that missed the arrival of their funds or the end of a pause, in milliseconds. */
const releasesPauseMs = 2_000

/** Pause between looks for probes that are due, credentials that are good again and ids that became known, in milliseconds. */
const newsPauseMs = 1_000

/** Pause between looks for details of counterparties that nobody needs any more, in milliseconds. */
const wipePauseMs = 600_000

/** Transfers checked in one statement. */
const pageSize = 5_000

/** Most transfers of others that are adopted in one transaction. */
const adoptedAtOnce = 500

/** What a sweeper works with. */
export interface SweeperOptions<Tx> {
  readonly attempts: AttemptStore
  readonly transfers: TransferStore<Tx>
  readonly credentials: CredentialStore
  readonly looks: LookStore
  readonly counterparties: CounterpartyStore<Tx>
  readonly logger: Logger
}

/**
 * Starts the loops that find what waits for something that has happened: a job to every unsubmitted transfer that lost its
 * own, funds to those that missed them, credentials that are good again, looks at those that were told of too early, and
 * transfers of others that nothing here stands for. One more wipes details of counterparties after their time.
 */
export function startSweeper<Tx>(options: SweeperOptions<Tx>): Loop {
  const loops = [
    startJobs(options),
    startReleases(options),
    startCredentials(options),
    ...startFindings(options),
    startWiping(options),
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

function startJobs<Tx>({ attempts, credentials, logger }: SweeperOptions<Tx>): Loop {
  return startLoop({
    name: 'sweep',
    logger,
    async turn() {
      const repaired = await sweepJobs(attempts)
      await attempts.rewindClock()
      await credentials.forgetUnused()
      if (repaired > 0) logger.warn({ repaired }, 'Some transfers had lost their jobs and have new ones.')
      return pauseMs
    },
  })
}

function startReleases<Tx>({ transfers, logger }: SweeperOptions<Tx>): Loop {
  return startLoop({
    name: 'sweep releases',
    logger,
    async turn() {
      await transfers.releaseMissed()
      await transfers.releaseResumed()
      return releasesPauseMs
    },
  })
}

function startCredentials<Tx>({ credentials, logger }: SweeperOptions<Tx>): Loop {
  return startLoop({
    name: 'sweep credentials',
    logger,
    async turn() {
      await credentials.wakeProbes()
      return (await credentials.releaseRestored()) ? 0 : newsPauseMs
    },
  })
}

function startFindings<Tx>({ looks, transfers, logger }: SweeperOptions<Tx>): readonly Loop[] {
  const sightings = startLoop({
    name: 'sweep sightings',
    logger,
    async turn() {
      await looks.lookAtSighted()
      return newsPauseMs
    },
  })
  const adoptions = startLoop({
    name: 'sweep found transfers',
    logger,
    async turn() {
      const adopted = await transfers.adoptFound(adoptedAtOnce)
      if (adopted > 0) logger.info({ adopted }, 'Some transfers of others were adopted.')
      return adopted === adoptedAtOnce ? 0 : newsPauseMs
    },
  })
  return [sightings, adoptions]
}

function startWiping<Tx>({ counterparties, logger }: SweeperOptions<Tx>): Loop {
  return startLoop({
    name: 'wipe counterparties',
    logger,
    async turn() {
      await counterparties.wipeEnded()
      return wipePauseMs
    },
  })
}

/** Gives a job to every transfer that waits for one and has none; returns how many. */
async function sweepJobs(attempts: AttemptStore): Promise<number> {
  let repaired = 0
  for (let after = ''; ; ) {
    const ids = await attempts.unsubmittedAfter(after, pageSize)
    if (ids.length > 0) repaired += await attempts.ensureJobs(ids)
    const last = ids.at(-1)
    if (last === undefined || ids.length < pageSize) return repaired
    after = last
  }
}
