import { fileURLToPath } from 'node:url'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { type Backlog, createEngine, type Engine } from '@outlay/core'
import type { Client } from '@outlay/http-client'
import type { SeededClient } from '@outlay/service/sandbox'
import { memoryGateway, type Postgres, spawnNode, startPostgres } from '@outlay/testing'
import { Pool, type PoolClient } from 'pg'
import { migrateHost } from '../environment/host-database.ts'
import { type Customer, seedOf, welcome } from './customer.ts'
import { openSiteRecorder, type SiteRecorder } from './site-recorder.ts'
import { keepStanding, type StandingProgram } from './standing-program.ts'
import { startWorker, type Worker } from './worker.ts'
import { type Promises, startWriter } from './writer.ts'

/** A whole installation in processes of its own: Postgres, the service, workers, and hosts that write payouts. */
export interface Site extends AsyncDisposable {
  readonly postgres: Postgres
  /** Reads the hosts' database. */
  readonly host: Pool
  /** Reads the service's database. */
  readonly service: Pool
  readonly provider: StandingProgram
  readonly workers: readonly Worker[]
  readonly writers: readonly StandingProgram[]
  readonly customers: readonly { readonly customer: Customer; readonly client: Client }[]
  readonly promises: Promises
  readonly keysSeen: ReadonlySet<string>
  /** Records for the judge. */
  readonly recorder: SiteRecorder
  /** Processes that ended although nobody ended them. */
  readonly collapses: readonly string[]
  /** On the hosts' database, without workers. */
  readonly office: Engine<PoolClient>
  backlog(): Promise<Backlog>
}

/** How large a site is. */
export interface SiteOptions {
  readonly seed: number
  readonly customers: number
  readonly workers: number
  readonly writers: number
  /** Transactions of all writers together in a second. */
  readonly rate: number
  /** Writers also roll back, write many at once, and lose their connection at the commit. */
  readonly isWild: boolean
  /** Where the history for the judge is to be kept; else it is kept only when something is wrong with it. */
  readonly history?: string | undefined
  /** Receives at once a process that ended although nobody ended it. */
  readonly onCollapse?: ((what: string) => void) | undefined
}

const serviceEntry = fileURLToPath(new URL('../../../packages/service/dist/sandbox/main.js', import.meta.url))

/** Opens a site. What is committed there is on disk. */
export async function openSite(options: SiteOptions): Promise<Site> {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(
    await startPostgres({
      provider: 'embedded',
      durable: true,
      settings: { max_connections: '100', wal_level: 'logical' },
    }),
  )
  const [hostUrl, serviceUrl] = [await server.createDatabase(), await server.createDatabase()]
  const host = openPool(opening, hostUrl)
  const service = openPool(opening, serviceUrl)
  await migrateHost(host)
  const collapses: string[] = []
  const onCollapse = (what: string) => {
    collapses.push(what)
    options.onCollapse?.(what)
  }
  const { provider, url, clients } = await startProvider(serviceUrl, options.customers, onCollapse)
  opening.use(provider)
  const customers = await Promise.all(clients.map((client) => welcome(url, client)))
  for (const { client } of customers) opening.defer(() => client.close())
  const keysSeen = new Set<string>()
  const promises: Promises = { promised: new Set(), withdrawn: new Set(), unknown: new Set(), tookMs: [] }
  const known = customers.map(({ customer }) => customer)
  const recorder = await openSiteRecorder({ host, service, promises, customers: known, folder: options.history })
  opening.defer(() => recorder.stop())
  const around = {
    postgres: server,
    databaseUrl: hostUrl,
    serviceUrl: url,
    customers: known,
    onCollapse,
    onExchange: recorder.record,
    onKey: (key: string) => void keysSeen.add(key),
  }
  const workers: Worker[] = []
  for (let index = 0; index < options.workers; index += 1) {
    const worker = await startWorker(`worker-${index}`, around)
    opening.defer(() => worker.stop())
    workers.push(worker)
  }
  const writers: StandingProgram[] = []
  const rate = options.rate / options.writers
  for (let index = 0; index < options.writers; index += 1) {
    writers.push(opening.use(await startWriter({ ...options, ...around, rate, index, promises })))
  }
  const office = createEngine({ backend: postgres({ driver: pgDriver(host) }), gateway: memoryGateway() })
  const closing = opening.move()
  return {
    postgres: server,
    host,
    service,
    provider,
    workers,
    writers,
    customers,
    promises,
    keysSeen,
    recorder,
    collapses,
    office,
    backlog: () => office.backlog(),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  }
}

function openPool(opening: AsyncDisposableStack, connectionString: string): Pool {
  const pool = new Pool({ connectionString, max: 3 })
  pool.on('error', () => undefined)
  opening.defer(() => pool.end())
  return pool
}

async function startProvider(databaseUrl: string, customers: number, onCollapse: (what: string) => void) {
  const url = new URL(databaseUrl)
  url.searchParams.set('application_name', 'service')
  const env = { DATABASE_URL: url.toString(), PORT: '0' }
  const known: { ready?: { readonly url: string; readonly clients: readonly SeededClient[] } } = {}
  const provider = await keepStanding({
    name: 'the service',
    start: async () => {
      const { ready } = known
      const more = ready === undefined ? { SEED: JSON.stringify(seedOf(customers)) } : { PORT: new URL(ready.url).port }
      const program = await spawnNode(serviceEntry, { env: { ...env, ...more }, readyTimeoutMs: 60_000 })
      known.ready ??= program.ready as unknown as NonNullable<typeof ready>
      return program
    },
    onCollapse,
  })
  if (known.ready === undefined) throw new Error('The service did not say where it is.')
  return { provider, ...known.ready }
}
