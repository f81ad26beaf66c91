import { Client, Pool, type PoolClient } from 'pg'

/** A database of one contender, with a pool that counts what is sent. */
export interface Database {
  readonly url: string
  readonly pool: Pool
  /** A connection of its own for counting and checking; its statements are not counted. */
  readonly admin: Client
  /** Statements sent through the pool so far. */
  statements(): number
  /** The first column of the first row, as a number. */
  count(text: string, values?: readonly unknown[]): Promise<number>
  /** Closes the connections and keeps the database, so that it can be copied. */
  disconnect(): Promise<void>
  /** Closes the connections and drops the database. */
  close(): Promise<void>
}

/** Recreates the database of that name on the server, as a copy of `template` if one is named, and connects to it. */
export async function openDatabase(
  serverUrl: string,
  name: string,
  maxConnections: number,
  template = 'template1',
): Promise<Database> {
  await onServer(serverUrl, async (server) => {
    await server.query(`drop database if exists "${name}" with (force)`)
    await server.query(`create database "${name}" template "${template}"`)
  })
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).toString()
  const admin = new Client({ connectionString: url })
  await admin.connect()
  const pool = new Pool({ connectionString: url, max: maxConnections, idleTimeoutMillis: 0 })
  const statements = countStatements(pool)
  let closing = false
  // The pool does not wait for its sockets, so dropping the database may still end a connection that is closing.
  pool.on('error', (error) => {
    if (!closing) throw error
  })
  const disconnect = async () => {
    if (closing) return
    closing = true
    await pool.end()
    await admin.end()
  }
  return {
    url,
    pool,
    admin,
    statements,
    count: async (text, values = []) => {
      const { rows } = await admin.query({ text, values: [...values], rowMode: 'array' })
      return Number(rows[0]?.[0])
    },
    disconnect,
    close: async () => {
      await disconnect()
      await onServer(serverUrl, (server) => server.query(`drop database if exists "${name}" with (force)`))
    },
  }
}

/** Locks that the transaction of a client holds now, those of its own and of relations alike. */
export async function countLocks(client: PoolClient): Promise<number> {
  const { rows } = await client.query('select count(*)::integer as count from pg_locks where pid = pg_backend_pid()')
  return rows[0].count
}

/** Counts the statements that are sent through a pool from now on; returns a function with the count so far. */
export function countStatements(pool: Pool): () => number {
  let sent = 0
  pool.on('connect', (client) => {
    const query = client.query
    // A client's methods call the one that is overwritten here, so every statement passes it once.
    Object.assign(client, {
      query: (...parts: unknown[]) => {
        sent += 1
        return Reflect.apply(query, client, parts)
      },
    })
  })
  return () => sent
}

/** Runs `work` between `begin` and `commit` on a client of the pool, as a host does without a library. */
export async function inTransaction(pool: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await work(client)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

async function onServer(serverUrl: string, work: (server: Client) => Promise<unknown>): Promise<void> {
  const server = new Client({ connectionString: serverUrl })
  await server.connect()
  try {
    await work(server)
  } finally {
    await server.end()
  }
}
