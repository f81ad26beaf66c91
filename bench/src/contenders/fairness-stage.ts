import { type Driver, pgDriver } from '@outlay/adapters-pg'
import type { Engine, EnqueueRequest } from '@outlay/core'
import type { PoolClient } from 'pg'
import type { Database } from '../database.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { acceptingGateway, numberOfSubmission, openOutlayStage } from './outlay-stage.ts'
import { countJobs } from './queue.ts'

/** One account with a long backlog, and small ones that enqueue later. */
export interface FairnessStage {
  readonly name: string
  readonly database: Database
  /** Fills the large account's backlog up to its size. */
  top(): Promise<void>
  /** Starts a worker; `onDispatch` is called for every dispatch, with whether it is a small account's. */
  start(onDispatch: (isSmall: boolean) => void): Promise<void>
  /** Commits ten transfers of each of ten small accounts in one transaction. */
  enqueueSmall(): Promise<void>
  stop(): Promise<void>
  /** How long each fetch and claim of a batch took since the last call, in milliseconds. */
  readClaimTimes(): readonly number[]
  close(): Promise<void>
}

/** Small accounts, and transfers of each. */
export const smallAccounts = { count: 10, each: 10 } as const

/** Transfers under way at once. */
const concurrency = 20

const large = '01K8LARGE0000000000000AAAA'

/** Makes a database whose large account has a backlog of that size. */
export async function openFairnessStage(
  serverUrl: string,
  backlog: number,
  latencyMs: () => Promise<unknown>,
): Promise<FairnessStage> {
  const stage = await openOutlayStage(serverUrl, `bench_fairness_${backlog}`, 20)
  const { database } = stage
  const claimTimes: number[] = []
  let next = 0
  let running: Engine<PoolClient> | undefined
  const largeTransfer = (): EnqueueRequest => ({ ...sampleTransfer(next++), accountId: large })
  const smallNumbers = new Set<number>()
  return {
    name: `behind ${backlog.toLocaleString('en')}`,
    database,
    async top() {
      const missing = backlog - (await countJobs(database))
      await stage.fill(Array.from({ length: Math.max(0, missing) }, largeTransfer))
    },
    async start(onDispatch) {
      const gateway = acceptingGateway(async (submission) => {
        onDispatch(smallNumbers.has(numberOfSubmission(submission)))
        await latencyMs()
      })
      running = stage.makeEngine(gateway, { driver: timed(pgDriver(database.pool), claimTimes) })
      await running.start({ concurrency })
    },
    async enqueueSmall() {
      const requests = Array.from({ length: smallAccounts.count * smallAccounts.each }, (_, at) => {
        smallNumbers.add(next)
        const accountId = `01K8SMALL00000000000000${String(at % smallAccounts.count).padStart(3, '0')}`
        return { ...sampleTransfer(next++), accountId }
      })
      await stage.fill(requests)
    },
    async stop() {
      await running?.stop()
      await stage.countSubmitted()
    },
    readClaimTimes: () => claimTimes.splice(0),
    close: () => stage.close(),
  }
}

/** The driver; records how long each fetch of jobs takes with the claims in it, and each separate claim. */
function timed(driver: Driver<PoolClient>, times: number[]): Driver<PoolClient> {
  return {
    ...driver,
    async query(statement, values) {
      const from = performance.now()
      const rows = await driver.query(statement, values)
      if (/_(fetch|claim)$/.test(statement.name)) times.push(performance.now() - from)
      return rows
    },
  }
}
