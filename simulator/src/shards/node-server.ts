import {
  type Postgres,
  type PostgresClusters,
  standbyOf,
  startTcpProxy,
  type TcpProxy,
  waitForPrimary,
  waitUntil,
} from '@outlay/testing'
import { Client, Pool } from 'pg'
import type { NodeName } from './system.ts'

/** A server of a node, and the networks before it. */
export interface NodeServer extends AsyncDisposable {
  readonly name: NodeName
  /** The network that all programs of the system share. */
  readonly network: TcpProxy
  /** The database through that network, and past its faults. */
  readonly around: string
  readonly direct: string
  /** The database past that network, for the judge. */
  readonly pool: Pool
  /** Crashes the server, which recovers. */
  crash(): Promise<void>
  /** Makes a standby that confirms each commit, lets the machine of the server be gone, and promotes the standby in its place. */
  failOver(): Promise<void>
}

/** A standby gets what it needs however long its copy took. */
const settings = { max_connections: '120', fsync: 'on', wal_keep_size: '1GB' }

/** How long a standby may take to stream, and workers to be seen on it, in milliseconds. */
const standbyTimeoutMs = 120_000

/** Starts one on files of its own. What is committed there is on disk. */
export async function startNodeServer(clusters: PostgresClusters, name: NodeName): Promise<NodeServer> {
  await using opening = new AsyncDisposableStack()
  let files = `${name}-1`
  let server: Postgres = await clusters.start(files, settings)
  let servers = 1
  const url = new URL(await server.createDatabase())
  // The proxies read it for each new connection.
  const target = { host: url.hostname, port: Number(url.port) }
  const open = async () => {
    const network = opening.use(await startTcpProxy(target))
    return {
      network,
      url: Object.assign(new URL(url), { hostname: network.host, port: String(network.port) }).toString(),
    }
  }
  const [broken, whole] = [await open(), await open()]
  const pool = new Pool({ connectionString: whole.url, max: 3 })
  pool.on('error', () => undefined)
  opening.defer(() => pool.end())
  const closing = opening.move()
  return {
    ...{ name, network: broken.network, around: broken.url, direct: whole.url, pool },
    crash: () => server.restart({ mode: 'immediate' }),
    async failOver() {
      servers += 1
      const next = `${name}-${servers}`
      await clusters.backUp(server, files, next)
      await clusters.standByNext(next)
      const standby = await clusters.start(next, { ...settings, ...standbyOf(server) })
      await confirmCommits(server.url)
      await waitUntilSeen(standby, url.pathname)
      for (const { network } of [broken, whole]) network.cut()
      await clusters.kill(files)
      await promote(standby.url)
      Object.assign(target, { host: standby.host, port: standby.port })
      for (const { network } of [broken, whole]) network.heal()
      server = standby
      files = next
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  }
}

/** From here on no commit is answered that the standby does not have. */
async function confirmCommits(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(`alter system set synchronous_standby_names = '*'`)
    await client.query('select pg_reload_conf()')
    const isConfirmed = async () =>
      (await client.query(`select from pg_stat_replication where sync_state = 'sync'`)).rowCount === 1
    await waitUntil(isConfirmed, { timeoutMs: standbyTimeoutMs, describe: () => 'a standby to confirm commits' })
  })
}

/** An engine takes a server on a new timeline for a restored one, unless it was streamed to while that ran that workers were there. */
async function waitUntilSeen(standby: Postgres, databasePath: string): Promise<void> {
  const url = Object.assign(new URL(standby.url), { pathname: databasePath }).toString()
  await withClient(url, async (client) => {
    const text = 'select from outlay.known_database h where h.seen_at > pg_postmaster_start_time()'
    const isSeen = async () => (await client.query(text)).rowCount === 1
    await waitUntil(isSeen, { timeoutMs: standbyTimeoutMs, describe: () => 'workers to be seen on the standby' })
  })
}

async function promote(url: string): Promise<void> {
  await withClient(url, (client) => client.query('select pg_promote()'))
  await waitForPrimary(url)
}

async function withClient(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client(url)
  client.on('error', () => undefined)
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
