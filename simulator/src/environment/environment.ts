import { tmpdir } from 'node:os'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { type Sandbox, startSandbox } from '@outlay/service/sandbox'
import { type FaultProxy, memoryGateway, type Postgres, startFaultProxy, startPostgres } from '@outlay/testing'
import { Pool } from 'pg'
import type { Bug } from '../bugs/bug.ts'
import { plantInDatabase } from '../bugs/bugs.ts'
import { queueSchema, serviceQueueSchema, supervisor } from '../queue.ts'
import { endsWithin } from './bounded.ts'
import { type FaultyConnections, storeFaultyConnections } from './faulty-connections.ts'
import { subscriptions } from './subscriptions.ts'
import { prepareTimeTravel, retried } from './time-travel.ts'
import { startWebhookProxy, type WebhookProxy } from './webhook-proxy.ts'

/** Everything that outlives one run: a server, the service, and the database of the hosts. */
export interface Environment extends AsyncDisposable {
  readonly postgres: Postgres
  /** For workers that something may befall. */
  readonly connections: FaultyConnections
  /** Reads the hosts' database, and causes its accidents. */
  readonly host: Pool
  /** For workers that nothing befalls. */
  readonly steady: Pool
  /** For hosts, which wait for each other's locks no longer than hosts do. */
  readonly office: Pool
  /** For transactions of hosts that stay open. */
  readonly holders: Pool
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
  /** Empties the hosts' database for the next run. */
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

/** A statement by way of a socket in the file system takes four fifths of the time. */
function bySocket(url: string): string {
  const found = new URL(url)
  found.searchParams.set('host', tmpdir())
  return found.href
}

/** Opens an environment. `bug` is a mistake that is planted in it, to see that it is found. */
export async function openEnvironment(bug: Bug | undefined): Promise<Environment> {
  // One that can be restarted, wherever the other tests run.
  const server = await startPostgres({ provider: 'embedded', durable: false, settings: quick })
  const [hostUrl, serviceUrl] = [bySocket(await server.createDatabase()), bySocket(await server.createDatabase())]
  const host = openPool(hostUrl)
  await host.query(`set scram_iterations = 1; alter role current_user password '${new URL(hostUrl).password}'`)
  const service = openPool(serviceUrl)
  const steady = openPool(hostUrl, 16)
  const office = openPool(hostUrl, 16, '-c lock_timeout=1s')
  const holders = openPool(hostUrl, 8)
  const connections = storeFaultyConnections(hostUrl)
  await migrateHost(host)
  const sandbox = await startSandbox({ databaseUrl: serviceUrl, engine: { concurrency: 20, pollIntervalMs: 100 } })
  if (bug !== undefined) await plantInDatabase(bug, { host, service })
  const proxy = await startFaultProxy({ target: sandbox.url })
  const webhookProxy = await startWebhookProxy()
  const travelHost = await prepareTimeTravel(host, ['outlay', queueSchema])
  const travelService = await prepareTimeTravel(service, ['outlay_service_engine', serviceQueueSchema])
  const cleanHost = await prepareCleaning(host, ['outlay', queueSchema, 'public'])
  const cleanService = await prepareCleaning(service, ['outlay_service_engine', serviceQueueSchema])
  const bosses = [supervisor(host, queueSchema), supervisor(service, serviceQueueSchema)]
  return {
    postgres: server,
    connections,
    host,
    steady,
    office,
    holders,
    service,
    sandbox,
    proxy,
    webhookProxy,
    async travel(seconds) {
      const webhooks = retried(() => passWebhookTime(service, seconds))
      await Promise.all([travelHost(seconds), travelService(seconds), webhooks])
      for (const boss of bosses) await boss.supervise().catch(() => undefined)
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
      await Promise.all([cleanHost(), cleanService()])
      // An engine that hands transfers over has one of its own, which nobody serves in a run without such an engine.
      await host.query('delete from outlay.subscription where name <> all ($1)', [
        subscriptions.map(({ name }) => name),
      ])
      for (const { name, types } of subscriptions)
        await host.query('update outlay.subscription set types = $2 where name = $1', [name, types])
      await service.query('delete from outlay_service.webhook_delivery')
    },
    async [Symbol.asyncDispose]() {
      await webhookProxy.stop()
      await proxy.stop()
      await sandbox.stop()
      // What hangs in a run gives no connection back.
      const pools = [host, steady, office, holders, service].map((pool) => pool.end())
      await endsWithin(5_000, Promise.all([...pools, connections.end()]))
      await server.stop()
    },
  }
}

function openPool(connectionString: string, max = 4, options?: string): Pool {
  const pool = new Pool({ connectionString, max, options, idleTimeoutMillis: 0 })
  pool.on('error', () => undefined)
  return pool
}

/** Makes the schema of the hosts, and their subscriptions, so that no event is too early for them. */
export async function migrateHost(pool: Pool): Promise<void> {
  const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway: memoryGateway() })
  await engine.migrate()
  // Beside a transaction that a host holds open it would wait.
  await engine.policies.prepare()
  await pool.query(`
    create table payout (
      number integer not null,
      transfer_id text collate "C" not null references outlay.transfer (id),
      account_id text not null,
      asked jsonb,
      batch_id text
    );
    create table own_row (id bigserial primary key);
    create table remark (transfer_id text collate "C" not null references outlay.transfer (id));
    create table effect (
      position bigserial, subscription text not null, event_id text not null, type text not null,
      transfer_id text collate "C" not null, sequence integer not null, account_id text not null,
      status text, retriable boolean, remote_id text
    )`)
  for (const { name, types } of subscriptions) engine.subscribe(name, types, async () => undefined)
  await engine.start()
  await engine.stop()
}

/** What stays for the next run: migrations, subscriptions, and what pg-boss keeps about its queues. */
const lasting = ['migration', 'subscription', 'limit_salt', 'version', 'queue', 'schedule']

/** Empties the tables; with so few rows, deletes take a tenth of the time of a TRUNCATE. */
async function prepareCleaning(pool: Pool, schemas: readonly string[]): Promise<() => Promise<void>> {
  const { rows } = await pool.query<{ readonly name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relnamespace = any ($1::regnamespace[]) and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname <> all ($2)`,
    [schemas, lasting],
  )
  const deletes = rows.map(({ name }) => `delete from ${name};`).join('')
  return async () => {
    await pool.query(`begin; set local session_replication_role = replica; ${deletes} commit`)
  }
}

const passWebhookTime = (service: Pool, seconds: number) =>
  service.query(
    `update outlay_service.webhook_delivery set next_attempt_at = next_attempt_at - make_interval(secs => $1::float8)
     where status = 'pending'`,
    [seconds],
  )
