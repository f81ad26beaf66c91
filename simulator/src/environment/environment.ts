import { tmpdir } from 'node:os'
import { type Sandbox, startSandbox } from '@outlay/service/sandbox'
import { type FaultProxy, type Postgres, startFaultProxy, startPostgres } from '@outlay/testing'
import type { Pool } from 'pg'
import type { Bug } from '../bugs/bug.ts'
import { plantInDatabase } from '../bugs/bugs.ts'
import { serviceQueueSchema, supervisor } from '../queue.ts'
import { endsWithin } from './bounded.ts'
import { prepareCleaning } from './cleaning.ts'
import { bySocket, type HostDatabase, type HostReader, openHostDatabase, openPool, readAll } from './host-database.ts'
import { type HostSystem, openHostSystem } from './host-system.ts'
import { prepareTimeTravel, retried } from './time-travel.ts'
import { startWebhookProxy, type WebhookProxy } from './webhook-proxy.ts'

/** Everything that outlives one run: a server, the service, and the databases of the hosts. */
export interface Environment extends AsyncDisposable {
  readonly postgres: Postgres
  /** The databases of the hosts: each account is in one. */
  readonly nodes: readonly [HostDatabase, ...HostDatabase[]]
  /** What makes them one system; undefined for one database. */
  readonly system: HostSystem | undefined
  /** Reads all of them. */
  readonly host: HostReader
  /** Reads the service's database. */
  readonly service: Pool
  readonly sandbox: Sandbox
  /** Between the hosts and the service. */
  readonly proxy: FaultProxy
  readonly webhookProxy: WebhookProxy
  /** Lets time pass for the engines of both sides, and hands the jobs of dead workers out again. */
  travel(seconds: number): Promise<void>
  /** Lets so many days pass for the keys that the service keeps, and lets it forget those that are too old. Says how many. */
  forgetKeys(days: number): Promise<number>
  /** Empties the hosts' databases for the next run. */
  clean(): Promise<void>
}

/** Each run has few rows and many connections, so plans and compilation would cost more than what they are for. */
const quick = {
  deadlock_timeout: '50ms',
  max_connections: '200',
  // For whom a judge records.
  wal_level: 'logical',
  jit: 'off',
  autovacuum: 'off',
  plan_cache_mode: 'force_generic_plan',
  unix_socket_directories: tmpdir(),
}

/** Names of the databases of hosts that have several. */
export const nodeNames = ['east', 'west'] as const

/** Opens an environment. `bug` is a mistake that is planted in it, to see that it is found. */
export async function openEnvironment(bug: Bug | undefined, hasNodes = false): Promise<Environment> {
  // One that can be restarted, wherever the other tests run.
  const server = await startPostgres({ provider: 'embedded', durable: false, settings: quick })
  // An account whose rows are referred to does not move.
  const openNode = (name: string) => openHostDatabase(server, name, { hasReferences: !hasNodes })
  const nodes: Environment['nodes'] = hasNodes
    ? [await openNode(nodeNames[0]), await openNode(nodeNames[1])]
    : [await openNode('only')]
  const system = hasNodes ? await openHostSystem(server, nodes) : undefined
  const serviceUrl = bySocket(await server.createDatabase())
  const service = openPool(serviceUrl)
  const sandbox = await startSandbox({ databaseUrl: serviceUrl, engine: { concurrency: 20, pollIntervalMs: 100 } })
  if (bug !== undefined) for (const { host } of nodes) await plantInDatabase(bug, { host, service })
  const proxy = await startFaultProxy({ target: sandbox.url })
  const webhookProxy = await startWebhookProxy()
  const travelService = await prepareTimeTravel(service, ['outlay_service_engine', serviceQueueSchema])
  const cleanService = await prepareCleaning(service, ['outlay_service_engine', serviceQueueSchema])
  const supervised = [...nodes, supervisor(service, serviceQueueSchema)]
  return {
    ...{ postgres: server, nodes, system, host: readAll(nodes), service, sandbox, proxy, webhookProxy },
    async travel(seconds) {
      const webhooks = retried(() => passWebhookTime(service, seconds))
      await Promise.all([...nodes.map((one) => one.travel(seconds)), travelService(seconds), webhooks])
      for (const one of supervised) await one.supervise().catch(() => undefined)
    },
    async forgetKeys(days) {
      await service.query(
        'update outlay_service.idempotency_key set created_at = created_at - make_interval(days => $1)',
        [days],
      )
      const { rowCount } = await service.query(
        `delete from outlay_service.idempotency_key where created_at < now() - interval '30 days'`,
      )
      return rowCount ?? 0
    },
    async clean() {
      await Promise.all([...nodes.map((one) => one.clean()), system?.clean(), cleanService()])
      await service.query('delete from outlay_service.webhook_delivery')
    },
    async [Symbol.asyncDispose]() {
      await webhookProxy.stop()
      await proxy.stop()
      await sandbox.stop()
      // What hangs in a run gives no connection back.
      await endsWithin(5_000, Promise.all([...nodes.map((one) => one.end()), system?.end(), service.end()]))
      await server.stop()
    },
  }
}

const passWebhookTime = (service: Pool, seconds: number) =>
  service.query(
    `update outlay_service.webhook_delivery set next_attempt_at = next_attempt_at - make_interval(secs => $1::float8)
     where status = 'pending'`,
    [seconds],
  )
