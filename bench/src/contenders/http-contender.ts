import { type Program, spawnNode } from '@outlay/testing'
import { type Dispatcher, Pool, request } from 'undici'
import { type Database, openDatabase } from '../database.ts'
import type { HttpProcessReady } from '../http-process.ts'
import type { ClientUsage } from '../measurement.ts'

/** A server over HTTP in its own process, with its own database. */
export interface HttpContender {
  readonly name: string
  readonly kind: 'service' | 'bare'
  /** True when the engine works in the background. */
  readonly hasEngine: boolean
  readonly database: Database
  /** Base address. */
  readonly url: string
  /** As many connections as there are clients. */
  readonly connections: Pool
  /** The usage of the process so far. */
  usage(): Promise<ClientUsage>
  close(): Promise<void>
}

/** A request as the load sends it. */
export interface HttpRequest {
  readonly method: Dispatcher.HttpMethod
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

/** Options for starting a contender. */
export interface HttpContenderOptions {
  readonly name: string
  readonly kind: HttpContender['kind']
  readonly hasEngine: boolean
  /** Database whose copy it works on; nobody may be connected to it. */
  readonly template: string
  readonly encryptionKey: Uint8Array
  readonly connections: number
}

const entries = {
  service: new URL('./service-main.ts', import.meta.url),
  bare: new URL('./bare-handler-main.ts', import.meta.url),
}

/** Copies the database and starts the contender's process on it. */
export async function openHttpContender(serverUrl: string, options: HttpContenderOptions): Promise<HttpContender> {
  const { name, kind, hasEngine } = options
  const copy = `${options.template}_${name.replaceAll(/\W+/g, '_')}`
  const database = await openDatabase(serverUrl, copy, 1, options.template)
  if (kind === 'bare') await createBareTable(database)
  else await adoptCopy(database)
  const program: Program = await spawnNode(entries[kind], {
    env: {
      DATABASE_URL: database.url,
      ENCRYPTION_KEY: Buffer.from(options.encryptionKey).toString('hex'),
      ENGINE: hasEngine ? 'on' : 'off',
    },
  })
  const { url, usageUrl } = program.ready as unknown as HttpProcessReady
  const connections = new Pool(url, { connections: options.connections, pipelining: 1 })
  return {
    name,
    kind,
    hasEngine,
    database,
    url,
    connections,
    usage: async () => (await (await request(usageUrl)).body.json()) as ClientUsage,
    close: async () => {
      await connections.close()
      await program.stop()
      await database.close()
    },
  }
}

/** Starts the service without its engine on a copy of a stage's database; nothing submits its transfers. */
export const openIdleService = (
  serverUrl: string,
  { template, encryptionKey }: Pick<HttpContenderOptions, 'template' | 'encryptionKey'>,
  { name, connections }: Pick<HttpContenderOptions, 'name' | 'connections'>,
): Promise<HttpContender> =>
  openHttpContender(serverUrl, { name, kind: 'service', hasEngine: false, template, encryptionKey, connections })

/** Sends one request and reads the whole answer. Throws Error unless it has the status. */
export async function exchange(connections: Pool, sent: HttpRequest, status: number): Promise<string> {
  const { path, method, headers, body } = sent
  const answer = await connections.request({ path, method, headers, ...(body === undefined ? {} : { body }) })
  const text = await answer.body.text()
  if (answer.statusCode !== status) throw new Error(`${method} ${path}: HTTP ${answer.statusCode} ${text}`)
  return text
}

/** The service's columns without its constraints and indexes, and a primary key. */
async function createBareTable({ admin }: Database): Promise<void> {
  await admin.query('create table bare_transfer (like outlay_service.transfer)')
  await admin.query('alter table bare_transfer add primary key (id)')
}

/** Makes the copy known to the service's engine, which sends nothing from a database that was copied. */
async function adoptCopy({ admin }: Database): Promise<void> {
  await admin.query(
    `select outlay_service_engine.adopt_database(null, true, 'A benchmark measures this copy.', 'bench')`,
  )
}
