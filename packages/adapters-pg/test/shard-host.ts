import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Logger, OutlayError } from '@outlay/core'
import { freezeProcesses, memoryGateway, type Postgres, startPostgres } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach } from 'vitest'
import { pgDriver } from '../src/drivers/pg.ts'
import { type Shards, type ShardsOptions, shards } from '../src/shards/shards.ts'
import { emptyOutbox, migrateOutbox, samplePayout } from './outbox.ts'

/** Shards of a host on node-postgres. */
export type HostShards = Shards<pg.PoolClient>

/** How shards of a test differ from those on two servers whose accounts begin with the first letter of their node. */
export type OpenShards = Partial<ShardsOptions<pg.PoolClient>>

/** A host on two servers. After each test its workers stop and the engine's tables are emptied. */
export interface ShardHost {
  readonly east: pg.Pool
  readonly west: pg.Pool
  /** The second server. */
  readonly server: Postgres
  readonly eastUrl: string
  readonly westUrl: string
  /** Makes shards whose databases have their names. */
  open(options?: OpenShards): Promise<HostShards>
  /** The same, whose databases may have no names, or do not answer. */
  make(options?: OpenShards): HostShards
  /** The account of each transfer of a node, in the order of their ids. */
  accountsOf(pool: pg.Pool): Promise<readonly string[]>
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** Makes a host on the server of all tests and on one of its own. */
export async function shardHost(dataDir?: string): Promise<ShardHost> {
  const { url: eastUrl } = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const server = await startPostgres({ provider: 'embedded', durable: false, dataDir })
  const westUrl = await server.createDatabase('west')
  await migrateOutbox(westUrl)
  const open = (connectionString: string) => {
    const pool = new pg.Pool({ connectionString, max: 12 })
    pool.on('error', () => undefined)
    return pool
  }
  const [east, west] = [open(eastUrl), open(westUrl)]
  const made: HostShards[] = []
  afterEach(async () => {
    await Promise.all(made.splice(0).map((one) => one.stop()))
    await Promise.all([emptyOutbox(east), emptyOutbox(west)])
  })
  afterAll(async () => {
    await Promise.all([east.end(), west.end()])
    await server.stop()
  })
  const make: ShardHost['make'] = (options = {}) => {
    const one = shards({
      nodes: { east: { driver: pgDriver(east) }, west: { driver: pgDriver(west) } },
      route: (accountId) => (accountId.startsWith('w') ? 'west' : 'east'),
      engine: { gateway: memoryGateway({ idPrefix: randomUUID() }) },
      logger: silent,
      ...options,
    })
    made.push(one)
    return one
  }
  return {
    ...{ east, west, server, eastUrl, westUrl, make },
    async open(options) {
      const one = make(options)
      await one.migrate()
      return one
    },
    async accountsOf(pool) {
      const { rows } = await pool.query('select account_id from outlay.transfer order by id')
      return rows.map((row) => row.account_id)
    },
  }
}

/** Enqueues a payout of an account in a transaction on its node. */
export const enqueueAt = (on: HostShards, accountId: string) =>
  on.transaction(accountId, (tx) => on.transfers.enqueue(tx, samplePayout(accountId)))

/** The code and the message of a refusal. */
export async function refusal(work: Promise<unknown>): Promise<OutlayError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (OutlayError.is(error)) return error
  throw new Error(`This was no refusal: ${String(error)}`)
}

/** Freezes all processes of an embedded server, and gives what lets them go on. */
export async function freeze(url: string): Promise<() => Promise<void>> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query('select pg_backend_pid() as pid')
  const status = await readFile(`/proc/${rows[0].pid}/status`, 'utf8')
  await client.end()
  return freezeProcesses(Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]))
}
