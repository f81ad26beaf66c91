import { directory, pgDriver, shards } from '@outlay/adapters-pg'
import { memoryGateway, type Postgres } from '@outlay/testing'
import type { Pool } from 'pg'
import { prepareCleaning } from './cleaning.ts'
import { type FaultyConnections, storeFaultyConnections } from './faulty-connections.ts'
import { type Gathered, openGathered } from './gathered.ts'
import { bySocket, type HostDatabase, openPool } from './host-database.ts'

/** What makes several databases of hosts one system. */
export interface HostSystem {
  /** The database of the directory, for what nothing befalls, and for the others. */
  readonly directory: Pool
  readonly connections: FaultyConnections
  /** All databases as one, for those who check at the end. */
  readonly gathered: Gathered
  clean(): Promise<void>
  end(): Promise<void>
}

/** Names the databases, and makes their directory. */
export async function openHostSystem(server: Postgres, nodes: readonly HostDatabase[]): Promise<HostSystem> {
  const url = bySocket(await server.createDatabase())
  const pool = openPool(url, 24)
  const route = directory({ pool })
  await route.migrate()
  const drivers = nodes.map(({ name, host }) => [name, { driver: pgDriver(host) }] as const)
  await shards({ nodes: Object.fromEntries(drivers), route, engine: { gateway: memoryGateway() } }).migrate()
  await route.close()
  const connections = storeFaultyConnections(url)
  const gathered = await openGathered(server, nodes)
  const clean = await prepareCleaning(pool, ['outlay_directory'])
  return {
    ...{ directory: pool, connections, gathered, clean },
    async end() {
      await Promise.all([pool.end(), connections.end(), gathered.end()])
    },
  }
}
