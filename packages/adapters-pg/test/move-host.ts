import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll } from 'vitest'
import { type Directory, directory } from '../src/shards/directory.ts'
import { samplePayout } from './outbox.ts'
import { type HostShards, type OpenShards, type ShardHost, shardHost } from './shard-host.ts'

/** A host on two servers whose accounts move, with its directory in the database of the east. */
export interface MoveHost extends ShardHost {
  readonly route: Directory
  /** Makes shards that find accounts in the directory, and a new account in the east. */
  openAt(options?: OpenShards): Promise<{ readonly shards: HostShards; readonly account: string }>
  /** A directory of its own, as another process has it. */
  otherRoute(): Directory
  /** Ids of the transfers of an account in the tables that workers read, on each node. */
  live(account: string): Promise<{ readonly east: readonly string[]; readonly west: readonly string[] }>
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** Makes a host whose accounts move. */
export async function moveHost(): Promise<MoveHost> {
  const host = await shardHost()
  const pool = new pg.Pool({ connectionString: host.eastUrl, max: 12 })
  pool.on('error', () => undefined)
  const made: Directory[] = []
  const otherRoute = () => {
    const one = directory({ pool, logger: silent })
    made.push(one)
    return one
  }
  const route = otherRoute()
  await route.migrate()
  afterAll(async () => {
    await Promise.all(made.map((one) => one.close()))
    await pool.end()
  })
  const idsOf = async (on: pg.Pool, account: string) => {
    const { rows } = await on.query('select id from outlay.transfer where account_id = $1 order by id', [account])
    return rows.map((row) => row.id as string)
  }
  return {
    ...{ ...host, route, otherRoute },
    async openAt(options) {
      const account = `acme-${randomUUID().slice(0, 8)}`
      await route.assign(account, 'east')
      return { shards: await host.open({ route, ...options }), account }
    },
    async live(account) {
      const [east, west] = await Promise.all([idsOf(host.east, account), idsOf(host.west, account)])
      return { east, west }
    },
  }
}

/** Enqueues a payout under a key, on the node where its account is. */
export const payAt = (on: HostShards, accountId: string, idempotencyKey: string) =>
  on.transaction(accountId, (tx) => on.transfers.enqueue(tx, samplePayout(accountId, { idempotencyKey })))
