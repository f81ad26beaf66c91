import { Pool } from 'pg'
import { countStatements, openDatabase } from './database.ts'

/** A contender's database whose connections may be lost at any time: the server restarts, or somebody ends them. */
export interface QueueDatabase {
  readonly url: string
  /** Connections of the host's transactions. */
  readonly host: Pool
  /** Connections of the worker, which {@link endWorkerBackend} ends. */
  readonly worker: Pool
  /** One connection for counting and checking, opened again when it is lost; its statements are not counted. */
  readonly admin: Pool
  /** Statements sent by host and worker so far. */
  statements(): number
  /** The first column of the first row, as a number. */
  count(text: string, values?: readonly unknown[]): Promise<number>
  /** Closes the connections and drops the database. */
  close(): Promise<void>
}

const workerName = 'bench worker'
const hostConnections = 40

/** Recreates the database of that name on the server, with the host's own table. */
export async function openQueueDatabase(
  serverUrl: string,
  name: string,
  workerConnections: number,
): Promise<QueueDatabase> {
  const created = await openDatabase(serverUrl, name, 1)
  await created.disconnect()
  const { url } = created
  const open = (max: number, application_name: string) => {
    const pool = new Pool({ connectionString: url, max, application_name, idleTimeoutMillis: 0 })
    // The pool has dropped the client by then, and opens another when it is asked for one.
    pool.on('error', () => undefined)
    return pool
  }
  const [host, worker, admin] = [open(hostConnections, 'bench host'), open(workerConnections, workerName), open(1, '')]
  const counters = [countStatements(host), countStatements(worker)]
  return {
    url,
    host,
    worker,
    admin,
    statements: () => counters.reduce((sum, count) => sum + count(), 0),
    count: async (text, values = []) => {
      const { rows } = await admin.query({ text, values: [...values], rowMode: 'array' })
      return Number(rows[0]?.[0])
    },
    close: async () => {
      await Promise.all([host, worker, admin].map((pool) => pool.end()))
      await created.close()
    },
  }
}

/** Ends a backend of the worker at random; false when it has none. */
export async function endWorkerBackend({ admin }: QueueDatabase): Promise<boolean> {
  const { rowCount } = await admin.query(
    `select pg_terminate_backend(pid) from (
       select pid from pg_stat_activity where datname = current_database() and application_name = $1
       order by random() limit 1) one`,
    [workerName],
  )
  return rowCount === 1
}
