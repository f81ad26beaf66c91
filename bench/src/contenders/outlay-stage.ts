import { type Driver, pgDriver, postgres } from '@outlay/adapters-pg'
import {
  createEngine,
  type Engine,
  type EnqueueRequest,
  type Gateway,
  type Logger,
  type Screener,
  type Submission,
} from '@outlay/core'
import type { PoolClient } from 'pg'
import { type Database, inTransaction, openDatabase } from '../database.ts'
import { countJobs, outboxTable } from './queue.ts'

/** Transfers that one transaction of a filling enqueues. */
const batchSize = 2_000

/** A database with Outlay's schema, and engines on it. */
export interface OutlayStage {
  readonly database: Database
  /** An engine that enqueues and sends nothing. */
  readonly sender: Engine<PoolClient>
  /** An engine that sends through a gateway, and screens where `screen` is given. */
  makeEngine(
    gateway: Gateway,
    options?: { readonly driver?: Driver<PoolClient>; readonly screen?: Screener | undefined },
  ): Engine<PoolClient>
  /** Deletes every transfer, event, attempt, delivery and job. */
  empty(): Promise<void>
  /** Enqueues transfers in transactions of some thousands. */
  fill(requests: readonly EnqueueRequest[]): Promise<void>
  /** Transfers that were submitted, once each; throws Error when one was begun twice or is not settled with its job. */
  countSubmitted(): Promise<number>
  close(): Promise<void>
}

/** A gateway for engines that only enqueue. */
const closedGateway: Gateway = {
  submit: () => Promise.reject(new Error('This engine only enqueues.')),
  get: () => Promise.resolve(undefined),
}

/** Makes the database and migrates it. */
export async function openOutlayStage(serverUrl: string, name: string, connections: number): Promise<OutlayStage> {
  const database = await openDatabase(serverUrl, name, connections)
  const makeEngine: OutlayStage['makeEngine'] = (gateway, { driver = pgDriver(database.pool), screen } = {}) =>
    createEngine({ backend: postgres({ driver, logger: loudLogger }), gateway, screen })
  const sender = makeEngine(closedGateway)
  await sender.migrate()
  const { count } = database
  return {
    database,
    sender,
    makeEngine,
    async empty() {
      await database.admin.query('truncate outlay.transfer, outlay.event, outlay.attempt, outlay.delivery')
      await database.admin.query(`delete from ${outboxTable}`)
    },
    async fill(requests) {
      for (let from = 0; from < requests.length; from += batchSize) {
        const batch = requests.slice(from, from + batchSize)
        await inTransaction(database.pool, async (client) => {
          await sender.transfers.enqueueMany(client, batch)
        })
      }
    },
    async countSubmitted() {
      const jobs = await countJobs(database)
      const transfers = await count('select count(*) from outlay.transfer')
      const submitted = await count(`select count(*) from outlay.transfer
        where stage in ('submitted', 'settled') and remote_id = 'remote-' || submission_key`)
      const repeated = await count('select count(*) from outlay.attempt where attempt > 1')
      if (transfers - jobs !== submitted || repeated > 0) {
        throw new Error(`${submitted} were submitted, ${transfers - jobs} jobs are gone, ${repeated} were begun again.`)
      }
      return submitted
    },
    close: () => database.close(),
  }
}

/** A gateway that accepts every transfer once `handle` has returned, and knows no status. */
export function acceptingGateway(handle: (submission: Submission) => Promise<void> | void): Gateway {
  return {
    async submit(submission) {
      await handle(submission)
      return { outcome: 'accepted', remoteId: `remote-${submission.idempotencyKey}` }
    },
    get: () => Promise.resolve(undefined),
  }
}

/** The number in the key of a sample transfer. */
export const numberOf = (idempotencyKey: string): number => Number(idempotencyKey.slice('invoice-'.length))

const loudLogger: Logger = {
  debug() {},
  info() {},
  warn: (fields, message) => process.stderr.write(`${message} ${JSON.stringify(fields)}\n`),
  error: (fields, message) => process.stderr.write(`${message} ${JSON.stringify(fields)}\n`),
}

/** The number of a sample transfer that is being submitted. */
export const numberOfSubmission = ({ request }: Submission): number =>
  Number(request.destination.wireMemo?.slice('Invoice '.length))
