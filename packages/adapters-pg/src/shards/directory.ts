import { type Logger, OutlayError } from '@outlay/core'
import { Column, checkNames, checkNumbers, rowDecoder, timerRange } from '@outlay/core/adapter'
import type { Pool } from 'pg'
import { readFirst } from '../database/read-rows.ts'
import { systemRuntime } from '../database/runtime.ts'
import { quoteIdentifier, statements } from '../database/statement.ts'
import { poolDriver } from '../drivers/pool.ts'
import { applyMigrations, asLocalDdl, directoryMigrations, migrationScript } from '../schema/migrate.ts'
import { createDirectoryMoves, type DirectoryMoves } from './account-move-directory.ts'
import { placesOf } from './account-move-places.ts'
import { openDirectoryListener } from './directory-listener.ts'
import { isUnreachable } from './node-reachability.ts'
import { createQuestionLimit } from './question-limit.ts'
import { createRouteCache, type RouteCache, type RouteReading } from './route-cache.ts'
import type { RouteDirectory } from './shard-routing.ts'

const texts = {
  find: 'select a.node from {{schema}}.account a where a.account_id = $1',
  assign: `with assigned as (
      insert into {{schema}}.account (account_id, node) values ($1, $2) on conflict (account_id) do nothing returning node
    )
    select s.node from assigned s`,
} as const

/** Where routes are kept, and how many of them a process remembers. */
export interface DirectoryOptions {
  /** Pool of the directory database: any of the nodes, or one of its own. */
  readonly pool: Pool
  /** Schema of the table. Default `outlay_directory`. */
  readonly schema?: string | undefined
  /** Routes that a process remembers at most, from 1 to 10 000 000. Default 100 000. */
  readonly cacheSize?: number | undefined
  /** A cached route is read again after so long, in milliseconds, in case a notification was lost. Default 60 000. */
  readonly maxAgeMs?: number | undefined
  /** How long one read may take, in milliseconds. Default 5 000. */
  readonly timeoutMs?: number | undefined
  /** Default: warnings and errors go to the console. */
  readonly logger?: Logger | undefined
}

/** The node of each account, in a table with a cache in each process. */
export interface Directory extends RouteDirectory {
  /**
   * The node of an account: at once where it is cached. A cached one may be old for a moment; its node refuses then, and the next call reads again.
   * @throws OutlayError `not_found` with the field `accountId` for an account that has none; `node_unavailable` when the directory does not answer
   *   and nothing is cached
   */
  find(accountId: string): string | Promise<string>
  /** Assigns a new account to a node, and returns the node that it has: the first assignment counts, however many are made at once. */
  assign(accountId: string, node: string): Promise<string>
  /** Brings the directory's schema to this release. */
  migrate(): Promise<void>
  /** The same as SQL text, for the host's own migration tool. */
  migrationSql(): string
  /** Resolves when this process receives the changes of others. The first find() begins with that; without it a route is old for `maxAgeMs` at most. */
  listen(): Promise<void>
  /** Where `accounts.move` of the shards keeps its steps, for nothing else. A move holds one connection of the pool, and needs another one: more moves at once wait for each other. */
  readonly moves: DirectoryMoves
  /** Ends the connection for notifications. The pool is the host's, and stays open. */
  close(): Promise<void>
}

/**
 * Keeps the node of each account in a table of a database, for `route` of {@link shards}.
 *
 * @example
 * const route = directory({ pool })
 * await route.assign(accountId, 'east')
 * const outlay = shards({ nodes, route, engine: { gateway } })
 */
export function directory(options: DirectoryOptions): Directory {
  checkNames(options, ['pool', 'schema', 'cacheSize', 'maxAgeMs', 'timeoutMs', 'logger'])
  const { pool, schema = 'outlay_directory', cacheSize = 100_000, maxAgeMs = 60_000, timeoutMs = 5_000 } = options
  const ranges = { cacheSize: { min: 1, max: 10_000_000, integer: true }, maxAgeMs: timerRange, timeoutMs: timerRange }
  checkNumbers({ cacheSize, maxAgeMs, timeoutMs }, ranges)
  const channel = `${schema}_change`
  const tokens = { schema: quoteIdentifier(schema), channel }
  const driver = poolDriver(pool)
  const cache = createRouteCache({ size: cacheSize, maxAgeMs, realTimeMs: () => performance.now() })
  const { logger } = systemRuntime(options.logger)
  const listener = openDirectoryListener({ driver, channel, timeoutMs, logger, cache })
  // An idle connection that is lost would end the process; the next read opens another.
  const offError = driver.onError(() => undefined)
  const store = createRouteStore(driver, tokens, timeoutMs)
  const reads = createRouteReads(store, cache)
  const plan = { schema, tokens, migrations: directoryMigrations }
  return {
    find(accountId) {
      const known = cache.fresh(accountId)
      if (known !== undefined) return known
      listener.open()
      return reads.read(accountId)
    },
    forget: (accountId) => cache.forget(accountId),
    async assign(accountId, node) {
      const assigned = await store.assign(accountId, node)
      if (assigned !== undefined) return assigned.node
      // A read that is under way may have begun before there was a node.
      cache.forget(accountId)
      return reads.read(accountId)
    },
    migrate: () =>
      driver.session(async (session) => {
        await applyMigrations(session, plan)
      }),
    migrationSql: () => asLocalDdl(migrationScript(plan)),
    listen: () => listener.open(),
    moves: createDirectoryMoves(driver, tokens, placesOf(pool)),
    async close() {
      offError()
      await listener.close()
    },
  }
}

type RouteStore = ReturnType<typeof createRouteStore>

function createRouteStore(
  driver: ReturnType<typeof poolDriver>,
  tokens: Readonly<Record<string, string>>,
  timeoutMs: number,
) {
  const sql = statements(tokens, texts)
  const limit = createQuestionLimit('directory', timeoutMs)
  const ask = async (name: keyof typeof texts, values: readonly unknown[]) =>
    readFirst(readRoute, await limit.ask(() => driver.query(sql[name], values)))
  return {
    find: (accountId: string) => ask('find', [accountId]),
    assign: (accountId: string, node: string) => ask('assign', [accountId, node]),
  }
}

/** Reads routes, each account once at a time. */
function createRouteReads(store: RouteStore, cache: RouteCache) {
  const underWay = new Map<string, { readonly node: Promise<string>; readonly reading: RouteReading }>()
  const readNow = async (accountId: string, reading: RouteReading): Promise<string> => {
    try {
      const route = await store.find(accountId)
      if (route === undefined) {
        cache.forget(accountId)
        const message = `The directory has no node for the account ${accountId}; assign one with assign(accountId, node).`
        throw new OutlayError('not_found', message, { field: 'accountId' })
      }
      reading.keep(route.node)
      return route.node
    } catch (error) {
      const old = isUnreachable(error) ? cache.any(accountId) : undefined
      // A node refuses an account that has left it, so an old route does no harm.
      if (old !== undefined) return old
      throw error
    } finally {
      reading.end()
    }
  }
  return {
    read(accountId: string): Promise<string> {
      const known = underWay.get(accountId)
      if (known !== undefined && !known.reading.isStale()) return known.node
      const reading = cache.begin(accountId)
      const node = readNow(accountId, reading).finally(() => {
        if (underWay.get(accountId)?.reading === reading) underWay.delete(accountId)
      })
      underWay.set(accountId, { node, reading })
      return node
    },
  }
}

const readRoute = rowDecoder('route', { node: Column.text })
