import { fileURLToPath } from 'node:url'
import { directory } from '@outlay/adapters-pg'
import type { SeededClient } from '@outlay/service/sandbox'
import {
  openPostgresClusters,
  type Program,
  spawnNode,
  startPostgres,
  startTcpProxy,
  type TcpProxy,
} from '@outlay/testing'
import { Pool } from 'pg'
import { type Customer, seedOf, welcome } from '../site/customer.ts'
import { toEnvironment } from '../site/settings.ts'
import { keepStanding, type StandingProgram } from '../site/standing-program.ts'
import { type NodeServer, startNodeServer } from './node-server.ts'
import { type NodeName, nodeNames, openSystem, type System, type SystemSettings } from './system.ts'

/** Three servers as one system in processes of their own: workers, movers of accounts, and the service on a fourth server. */
export interface ShardSite extends AsyncDisposable {
  readonly nodes: readonly NodeServer[]
  /** The network before the directory. */
  readonly directoryNetwork: TcpProxy
  /** Reads the service's database. */
  readonly service: Pool
  readonly customers: readonly Customer[]
  readonly workers: readonly StandingProgram[]
  readonly movers: readonly StandingProgram[]
  /** The hosts' own view of the system, past the broken network, without workers. */
  readonly office: System
  /** The same through the network, as hosts have it. */
  readonly host: System
  /** Moves that have ended, with how long their accounts could not enqueue, in milliseconds. */
  readonly movedMs: readonly number[]
  /** Processes that ended although nobody ended them. */
  readonly collapses: readonly string[]
}

const serviceEntry = fileURLToPath(new URL('../../../packages/service/dist/sandbox/main.js', import.meta.url))

/** Opens one. What is committed there is on disk. */
export async function openShardSite(seed: number, accounts: number): Promise<ShardSite> {
  await using opening = new AsyncDisposableStack()
  const hub = opening.use(
    await startPostgres({ provider: 'embedded', durable: true, settings: { max_connections: '120' } }),
  )
  const [serviceUrl, directoryUrl] = [await hub.createDatabase(), await hub.createDatabase()]
  const openPool = (connectionString: string) => {
    const pool = new Pool({ connectionString, max: 3 })
    pool.on('error', () => undefined)
    opening.defer(() => pool.end())
    return pool
  }
  const openNetwork = async (url: string) => {
    const { hostname, port } = new URL(url)
    const network = opening.use(await startTcpProxy({ host: hostname, port: Number(port) }))
    const around = Object.assign(new URL(url), { hostname: network.host, port: String(network.port) }).toString()
    return { network, around }
  }
  const { url, clients } = await startService(opening, serviceUrl, accounts)
  const welcomed = await Promise.all(clients.map((client) => welcome(url, client)))
  for (const { client } of welcomed) opening.defer(() => client.close())
  const customers = welcomed.map(({ customer }) => customer)

  const clusters = opening.use(await openPostgresClusters())
  const nodes: NodeServer[] = []
  for (const name of nodeNames) nodes.push(opening.use(await startNodeServer(clusters, name)))
  const { network: directoryNetwork, around: directoryAround } = await openNetwork(directoryUrl)
  const settingsOf = (databaseUrl: string, way: 'direct' | 'around'): SystemSettings => ({
    ...{ databaseUrl, customers, serviceUrl: url, seed },
    nodes: Object.fromEntries(nodes.map((node) => [node.name, node[way]])) as Record<NodeName, string>,
  })
  const office = opening.use(openSystem(settingsOf(directoryUrl, 'direct')))
  await prepare(office, openPool(directoryUrl), nodes, customers)

  const settings = settingsOf(directoryAround, 'around')
  const host = opening.use(openSystem(settings))
  const [movedMs, collapses]: [number[], string[]] = [[], []]
  const keep = async (name: string, entry: string) => {
    const onMessage = (message: unknown) => movedMs.push((message as { readonly heldMs: number }).heldMs)
    const start = (): Promise<Program> =>
      spawnNode(new URL(entry, import.meta.url), { env: toEnvironment(settings), readyTimeoutMs: 60_000 })
    const program = await keepStanding({ name, start, onMessage, onCollapse: (what) => void collapses.push(what) })
    return opening.use(program)
  }
  const workers = [await keep('worker-0', 'worker-main.ts'), await keep('worker-1', 'worker-main.ts')]
  const movers = [await keep('mover-0', 'mover-main.ts'), await keep('mover-1', 'mover-main.ts')]
  const service = openPool(serviceUrl)
  const closing = opening.move()
  return {
    ...{ nodes, directoryNetwork, service, customers, workers, movers, office, host, movedMs, collapses },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  }
}

/** Migrates everything, and gives each account a node. */
async function prepare(
  office: System,
  directoryPool: Pool,
  nodes: readonly NodeServer[],
  customers: readonly Customer[],
): Promise<void> {
  await office.shards.migrate()
  const route = directory({ pool: directoryPool })
  await route.migrate()
  for (const [index, { accountId }] of customers.entries()) {
    await route.assign(accountId, nodeNames[index % nodeNames.length] as NodeName)
  }
  await route.close()
  for (const { pool } of nodes) {
    await pool.query(`
      create table payout (number integer primary key, transfer_id text not null, account_id text not null);
      create table effect (subscription text not null, event_id text not null, type text not null, transfer_id text not null)`)
  }
}

async function startService(opening: AsyncDisposableStack, databaseUrl: string, accounts: number) {
  const env = { DATABASE_URL: databaseUrl, PORT: '0', SEED: JSON.stringify(seedOf(accounts)) }
  const program = opening.use(await spawnNode(serviceEntry, { env, readyTimeoutMs: 60_000 }))
  return program.ready as unknown as { readonly url: string; readonly clients: readonly SeededClient[] }
}
