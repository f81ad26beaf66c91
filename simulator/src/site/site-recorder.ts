import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Exchange, judge, report, type Verdict } from '@outlay/judge'
import type { Pool } from 'pg'
import { hostTables, lineOf, queryOf } from '../judging/host-rows.ts'
import { writeToFolder } from '../judging/scribe.ts'
import { keysLiveMs, subscribed } from '../judging/standards.ts'
import { createStatements, digest, recordTables } from '../recording/index.ts'
import { type Customer, customerFunds } from './customer.ts'
import type { Promises } from './writer.ts'

/** Records what happens on a site, from outside, for the judge. */
export interface SiteRecorder {
  record(exchange: Exchange): void
  /** Something goes on that is no fault of the engine; call what it gives when it is over. */
  excuse(why: string): () => void
  /** Reads everything to its end and judges. */
  judge(isAtRest: boolean): Promise<Judged>
  /** Ends without a verdict. */
  stop(): void
}

/** What the judge said of a site. */
export interface Judged {
  readonly verdict: Verdict
  /** Where the history is; it is kept when something is wrong with it, or when somebody asked for it. */
  readonly folder: string | null
}

/** What is recorded of. */
export interface SiteRecorderOptions {
  readonly host: Pool
  readonly service: Pool
  readonly customers: readonly Customer[]
  readonly promises: Promises
  /** Where the history is to be kept. */
  readonly folder?: string | undefined
}

/** Pause between two readings, in milliseconds. */
const readPauseMs = 1_000

/** How long a tenant may wait for its first request, faults left out, in milliseconds. */
const servedWithinMs = 60_000

/** Starts to record. The recording proxies write to `record`. */
export async function openSiteRecorder(options: SiteRecorderOptions): Promise<SiteRecorder> {
  const { host, service, customers, promises } = options
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'outlay-history-')))
  const scribe = await writeToFolder(folder)
  const began = Date.now()
  for (const { accountId: account, credentials } of customers) {
    scribe.host({ kind: 'tenant', at: began, account, client: digest(credentials.clientId) })
    const amount = String(customerFunds)
    scribe.host({ kind: 'funded', at: began, account, value: 'USDC', rail: 'base', amount })
  }
  const onRow = (row: Parameters<typeof lineOf>[0]) => {
    const line = lineOf(row)
    if (line !== undefined) scribe.host(line)
  }
  const recorder = await recordTables(queryOf(host), { name: 'judge', tables: hostTables, onRow })
  const accounts = customers.map(({ accountId }) => accountId)
  const statements = createStatements(queryOf(service), accounts)
  const check = async () => {
    await recorder.drain()
    for (const line of await statements.check()) scribe.service(line)
  }
  // Postgres may be out of reach, which is what chaos is about; the next reading has it all.
  let reading = Promise.resolve()
  const readAgain = () => {
    reading = reading.then(() => check().catch(() => undefined))
  }
  const timer = setInterval(readAgain, readPauseMs)
  return {
    record: (exchange) => scribe.exchange(exchange),
    stop: () => clearInterval(timer),
    excuse(why) {
      scribe.host({ kind: 'unwell', at: Date.now(), account: null, why })
      return () => scribe.host({ kind: 'well', at: Date.now(), account: null, why })
    },
    async judge(isAtRest) {
      clearInterval(timer)
      await reading
      await check()
      const at = Date.now()
      for (const kind of ['promised', 'withdrawn'] as const)
        for (const number of promises[kind]) scribe.host({ kind, at, reference: `payout ${number}` })
      for (const line of await statements.readAll()) scribe.service(line)
      const run = { atRest: isAtRest, endedAt: at, ...subscribed, keysLiveMs, servedWithinMs }
      const verdict = judge(await scribe.finish(run))
      await recorder.stop()
      const stays = options.folder !== undefined || verdict.violations.length > 0
      if (!stays) await rm(folder, { recursive: true, force: true })
      return { verdict, folder: stays ? folder : null }
    },
  }
}

/** True when the judge found every promise kept. */
export const isKept = ({ verdict }: Judged): boolean => verdict.violations.length === 0

/** What the judge said, line by line. */
export const reportJudged = ({ verdict, folder }: Judged): readonly string[] => [
  ...report(verdict),
  ...(folder === null ? [] : [`Again: node judge/src/main.ts --history ${folder}`]),
]
