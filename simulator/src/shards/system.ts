import { directory, pgDriver, type Shards, shards } from '@outlay/adapters-pg'
import type { Logger } from '@outlay/core'
import { Pool, type PoolClient } from 'pg'
import { gatewayOf } from '../site/customer.ts'
import type { Settings } from '../site/settings.ts'

/** The nodes of a system, by their names. */
export const nodeNames = ['north', 'east', 'west'] as const

/** A node of a system. */
export type NodeName = (typeof nodeNames)[number]

/** What a program over several nodes reads from its environment. */
export interface SystemSettings extends Settings {
  /** `databaseUrl` is that of the directory. */
  readonly nodes: Readonly<Record<NodeName, string>>
  readonly serviceUrl: string
  /** Draws what the program does. */
  readonly seed: number
}

/** Several databases as one system, and its connections. */
export interface System extends AsyncDisposable {
  readonly shards: Shards<PoolClient>
  /** The pool of each node. */
  readonly pools: Readonly<Record<NodeName, Pool>>
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** Opens it, without workers. */
export function openSystem({ databaseUrl, nodes, serviceUrl, customers }: SystemSettings, connections = 8): System {
  const pools: Pool[] = []
  const open = (connectionString: string): Pool => {
    const pool = new Pool({ connectionString, max: connections, connectionTimeoutMillis: 5_000 })
    pool.on('error', () => undefined)
    pools.push(pool)
    return pool
  }
  const byName = { north: open(nodes.north), east: open(nodes.east), west: open(nodes.west) }
  const route = directory({ pool: open(databaseUrl), maxAgeMs: 2_000, logger: silent })
  const system = shards({
    nodes: {
      north: { driver: pgDriver(byName.north) },
      east: { driver: pgDriver(byName.east) },
      west: { driver: pgDriver(byName.west) },
    },
    route,
    engine: { gateway: gatewayOf(serviceUrl, customers) },
    logger: silent,
  })
  return {
    shards: system,
    pools: byName,
    async [Symbol.asyncDispose]() {
      await system.stop()
      await route.close()
      await Promise.all(pools.map((pool) => pool.end()))
    },
  }
}
