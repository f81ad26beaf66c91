import { type Exchange, judge } from '@outlay/judge'
import type { Environment } from '../environment/environment.ts'
import type { Tenant } from '../environment/tenant.ts'
import type { Evidence } from '../invariants/evidence.ts'
import { createStatements, digest, recordTables, type Statements, startRecordingProxy } from '../recording/index.ts'
import type { Violation } from '../violation.ts'
import { hostTables, lineOf, queryOf } from './host-rows.ts'
import { keepInMemory, type Scribe } from './scribe.ts'
import { keysLiveMs, subscribed } from './standards.ts'

/** Records the runs in an environment for the judge, one after the other. */
export interface Court extends AsyncDisposable {
  /** The environment as a run has it that is judged: requests go by the recording proxy, and skipped time is written down. */
  readonly environment: Environment
  /** Begins the record of a run, once its tenants are there. */
  begin(tenants: readonly Tenant[]): Promise<void>
  /** Reads what has become of things since. */
  check(): Promise<void>
  /** Ends the record and judges it. */
  judge(at: Pick<Evidence, 'foreign' | 'paidOtherwise'>): Promise<readonly Violation[]>
}

/** Opens the court of an environment. */
export async function openCourt(environment: Environment): Promise<Court> {
  let scribe: Scribe = keepInMemory()
  let statements: Statements | undefined
  let tenants: readonly Tenant[] = []
  const record = (exchange: Exchange) => scribe.exchange(exchange)
  const proxy = await startRecordingProxy(environment.proxy.url, record)
  const onRow = (row: Parameters<typeof lineOf>[0]) => {
    const line = lineOf(row)
    if (line !== undefined) scribe.host(line)
  }
  const recorder = await recordTables(queryOf(environment.host), { name: 'judge', tables: hostTables, onRow })
  const check = async () => {
    await recorder.drain()
    for (const line of (await statements?.check()) ?? []) scribe.service(line)
  }
  return {
    environment: {
      ...environment,
      proxy: { ...environment.proxy, url: proxy.url },
      async travel(seconds) {
        scribe.host({ kind: 'travel', at: Date.now(), ms: seconds * 1_000 })
        await environment.travel(seconds)
      },
    },
    async begin(those) {
      await recorder.drain()
      scribe = keepInMemory()
      tenants = those
      for (const { accountId: account, clientIds } of tenants)
        for (const clientId of clientIds)
          scribe.host({ kind: 'tenant', at: Date.now(), account, client: digest(clientId) })
      const accounts = tenants.map(({ accountId }) => accountId)
      statements = createStatements(queryOf(environment.service), accounts)
    },
    // Postgres may just be restarting.
    check: () => check().catch(() => undefined),
    async judge({ foreign, paidOtherwise = new Set() }) {
      await check()
      const at = Date.now()
      for (const remote of foreign.keys()) scribe.host({ kind: 'foreign', at, remote })
      for (const remote of paidOtherwise) scribe.host({ kind: 'paid_otherwise', at, remote })
      for (const { accountId: account, funded } of tenants)
        scribe.host({ kind: 'funded', at, account, value: 'USDC', rail: 'base', amount: String(funded) })
      for (const line of (await statements?.readAll()) ?? []) scribe.service(line)
      const history = await scribe.finish({ atRest: true, endedAt: at, ...subscribed, keysLiveMs })
      return judge(history).violations.map(({ rule, payout, what }) => ({
        invariant: 'judge',
        detail: `${rule}: ${payout}: ${what}`,
      }))
    },
    async [Symbol.asyncDispose]() {
      await proxy.stop()
      await recorder.stop()
    },
  }
}
