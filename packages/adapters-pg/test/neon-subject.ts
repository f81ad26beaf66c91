import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import * as neon from '@neondatabase/serverless'
import * as oldest from '@neondatabase/serverless-1.0'
import type { DriverSubject } from '@outlay/testing/conformance'
import { drizzle } from 'drizzle-orm/neon-serverless'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { createWebSocketStream, WebSocketServer } from 'ws'
import { postgres } from '../src/backend.ts'
import { type DrizzleNeonTransaction, drizzleNeonDriver } from '../src/drivers/drizzle-neon.ts'
import { neonDriver } from '../src/drivers/neon.ts'
import type { PgDriverOptions } from '../src/drivers/pool.ts'
import { hostOf } from './driver-subjects.ts'

/** The releases that the driver is tested with: the oldest and the newest that it claims. */
export const neons: Readonly<Record<string, typeof neon>> = {
  'Neon 1.0': oldest as unknown as typeof neon,
  Neon: neon,
}

let proxying: Promise<number> | undefined

/** Opens a proxy from WebSockets to servers, as there is one before the databases of Neon; all pools of the process share it. */
async function openProxy(): Promise<number> {
  const http = createServer().listen(0, '127.0.0.1').unref()
  await once(http, 'listening')
  new WebSocketServer({ server: http }).on('connection', (socket, { url }) => {
    const [host = '', port] = new URLSearchParams(url?.split('?')[1]).get('address')?.split(':') ?? []
    const client = createWebSocketStream(socket)
    const server = connect(Number(port), host)
    client.on('error', () => server.destroy()).pipe(server)
    server.on('error', () => client.destroy()).pipe(client)
  })
  return (http.address() as AddressInfo).port
}

/** Opens a pool of Neon, whose connections are WebSockets. */
export async function openNeonPool(url: string, library: typeof neon = neon, max = 30): Promise<neon.Pool> {
  proxying ??= openProxy()
  const port = await proxying
  Object.assign(library.neonConfig, {
    wsProxy: (host: string, target: number | string) => `127.0.0.1:${port}/v2?address=${host}:${target}`,
    useSecureWebSocket: false,
    pipelineConnect: false,
    pipelineTLS: false,
  })
  const pool = new library.Pool({ connectionString: url, max })
  // As Neon's own documents say: an idle connection may fail at any time.
  pool.on('error', () => undefined)
  return pool
}

/** Opens the pool of Neon with its driver. */
export async function openNeon(
  url: string,
  library: typeof neon = neon,
  options: PgDriverOptions = {},
): Promise<DriverSubject<neon.PoolClient>> {
  const pool = await openNeonPool(url, library)
  return { ...hostOf<neon.PoolClient>(pool), backend: postgres({ driver: neonDriver(pool, options) }) }
}

const notes = pgTable('note', { id: text().primaryKey(), body: text() })
const schema = { notes }

/** Opens Drizzle over the pool of Neon with its driver. */
export async function openDrizzleNeon(url: string): Promise<DriverSubject<DrizzleNeonTransaction<typeof schema>>> {
  const pool = await openNeonPool(url)
  const db = drizzle({ client: pool, schema })
  return {
    backend: postgres({ driver: drizzleNeonDriver(db) }),
    transaction: (work) => db.transaction(work),
    nested: (tx, work) => tx.transaction(work),
    insertNote: (tx, id, body) => tx.insert(notes).values({ id, body }),
    close: () => pool.end(),
  }
}
