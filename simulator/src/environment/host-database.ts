import { tmpdir } from 'node:os'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { memoryGateway, type Postgres } from '@outlay/testing'
import { Pool, type QueryResult } from 'pg'
import { queueSchema, supervisor } from '../queue.ts'
import { prepareCleaning } from './cleaning.ts'
import { type FaultyConnections, storeFaultyConnections } from './faulty-connections.ts'
import { subscriptions } from './subscriptions.ts'
import { prepareTimeTravel } from './time-travel.ts'

/** A database of the hosts, and the connections of everybody to it. */
export interface HostDatabase {
  readonly name: string
  /** For workers that something may befall. */
  readonly connections: FaultyConnections
  /** Reads the database, and causes its accidents. */
  readonly host: Pool
  /** For workers that nothing befalls. */
  readonly steady: Pool
  /** For hosts, which wait for each other's locks no longer than hosts do. */
  readonly office: Pool
  /** For transactions of hosts that stay open. */
  readonly holders: Pool
  /** Lets time pass for the engine. */
  travel(seconds: number): Promise<void>
  /** Hands the jobs of dead workers out again. */
  supervise(): Promise<void>
  /** Empties it for the next run. */
  clean(): Promise<void>
  end(): Promise<void>
}

/** Reads the databases of the hosts. */
export type HostReader = Pick<Pool, 'query'>

/** Reads several databases one after the other: the rows of all, of statements without a name. */
export function readAll([first, ...others]: readonly [HostDatabase, ...HostDatabase[]]): HostReader {
  if (others.length === 0) return first.host
  const query = async (text: string, values?: unknown[]): Promise<QueryResult> => {
    const all = await Promise.all([first, ...others].map(({ host }) => host.query(text, values)))
    const [one, ...rest] = all as [QueryResult, ...QueryResult[]]
    const rows = [one, ...rest].flatMap((result) => result.rows)
    return { ...one, rows, rowCount: all.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0) }
  }
  return { query } as HostReader
}

/** Makes a database of the hosts. `hasReferences` says whether their own tables refer to those of the engine. */
export async function openHostDatabase(
  server: Postgres,
  name: string,
  { hasReferences }: { readonly hasReferences: boolean },
): Promise<HostDatabase> {
  const url = bySocket(await server.createDatabase())
  const host = openPool(url)
  await host.query(`set scram_iterations = 1; alter role current_user password '${new URL(url).password}'`)
  await migrateHost(host, { hasReferences })
  const connections = storeFaultyConnections(url)
  const [steady, office, holders] = [openPool(url, 16), openPool(url, 16, '-c lock_timeout=1s'), openPool(url, 8)]
  const cleanTables = await prepareCleaning(host, ['outlay', queueSchema, 'public'])
  const boss = supervisor(host, queueSchema)
  return {
    ...{ name, connections, host, steady, office, holders },
    travel: await prepareTimeTravel(host, ['outlay', queueSchema]),
    supervise: () => boss.supervise(),
    async clean() {
      await cleanTables()
      // An engine that hands transfers over has one of its own, which nobody serves in a run without such an engine.
      await host.query('delete from outlay.subscription where name <> all ($1)', [subscriptions.map((one) => one.name)])
      for (const one of subscriptions)
        await host.query('update outlay.subscription set types = $2 where name = $1', [one.name, one.types])
    },
    async end() {
      await Promise.all([...[host, steady, office, holders].map((pool) => pool.end()), connections.end()])
    },
  }
}

/** A statement by way of a socket in the file system takes four fifths of the time. */
export function bySocket(url: string): string {
  const found = new URL(url)
  found.searchParams.set('host', tmpdir())
  return found.href
}

/** Opens a pool that outlives the sessions of its server. */
export function openPool(connectionString: string, max = 4, options?: string): Pool {
  const pool = new Pool({ connectionString, max, options, idleTimeoutMillis: 0 })
  pool.on('error', () => undefined)
  return pool
}

/** Makes the schema of the hosts, and their subscriptions, so that no event is too early for them. */
export async function migrateHost(pool: Pool, { hasReferences } = { hasReferences: true }): Promise<void> {
  const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway: memoryGateway() })
  await engine.migrate()
  // Beside a transaction that a host holds open it would wait.
  await engine.policies.prepare()
  const reference = hasReferences ? 'references outlay.transfer (id)' : ''
  await pool.query(`
    create table payout (
      number integer not null,
      transfer_id text collate "C" not null ${reference},
      account_id text not null,
      asked jsonb,
      batch_id text
    );
    create table own_row (id bigserial primary key);
    create table remark (transfer_id text collate "C" not null ${reference});
    create table effect (
      position bigserial, subscription text not null, event_id text not null, type text not null,
      transfer_id text collate "C" not null, sequence integer not null, account_id text not null,
      status text, retriable boolean, remote_id text
    )`)
  for (const { name, types } of subscriptions) engine.subscribe(name, types, async () => undefined)
  await engine.start()
  await engine.stop()
}
