import { randomUUID } from 'node:crypto'
import pg from 'pg'

/** Connection strings of a running Citus cluster: its coordinator, and at least two workers. */
export const citusUrls: readonly string[] = (process.env['OUTLAY_CITUS_URLS'] ?? '').split(',').filter(Boolean)

/** A server of a cluster, with a database of the test in it. */
export interface CitusServer {
  readonly url: string
  readonly pool: pg.Pool
  /** Its host and port in `pg_dist_node`. */
  readonly at: string
  readonly group: number
}

/** A database of its own in a running cluster. */
export interface CitusCluster {
  readonly coordinator: CitusServer
  readonly east: CitusServer
  readonly west: CitusServer
  /** Ends all connections and drops the database. */
  close(): Promise<void>
}

/** Makes a database on the servers of a cluster, whose own database says how they call each other. */
export async function openCitus(urls: readonly string[]): Promise<CitusCluster> {
  const name = `outlay_${randomUUID().slice(0, 8)}`
  const servers: CitusServer[] = []
  for (const url of urls.slice(0, 3)) {
    const { rows } = await once(
      url,
      `select n.nodename as host, n.nodeport as port, l.groupid as group from pg_dist_node n
       join pg_dist_local_group l on l.groupid = n.groupid where n.noderole::text = 'primary'`,
    )
    const [{ host, port, group }] = rows as [{ readonly host: string; readonly port: number; readonly group: number }]
    await once(url, `create database ${name}`)
    const own = new URL(url)
    own.pathname = name
    await once(own.href, 'create extension citus')
    const pool = new pg.Pool({ connectionString: own.href, max: 8 })
    pool.on('error', () => undefined)
    servers.push({ url: own.href, pool, at: `${host}:${port}`, group })
  }
  const [coordinator, east, west] = servers
  if (coordinator === undefined || east === undefined || west === undefined)
    throw new Error('OUTLAY_CITUS_URLS must have the coordinator and two workers, with commas between them.')
  await coordinator.pool.query('select citus_set_coordinator_host($1, $2::integer)', hostPort(coordinator.at))
  for (const { at } of [east, west])
    await coordinator.pool.query('select citus_add_node($1, $2::integer)', hostPort(at))
  const groups = await coordinator.pool.query(`select nodename || ':' || nodeport as at, groupid from pg_dist_node`)
  const groupOf = (at: string): number => groups.rows.find((row) => row.at === at)?.groupid
  return {
    coordinator,
    east: { ...east, group: groupOf(east.at) },
    west: { ...west, group: groupOf(west.at) },
    async close() {
      await Promise.all(servers.map(({ pool }) => pool.end()))
      for (const url of urls.slice(0, 3)) await once(url, `drop database ${name} with (force)`)
    },
  }
}

const hostPort = (at: string) => [at.slice(0, at.lastIndexOf(':')), Number(at.slice(at.lastIndexOf(':') + 1))]

async function once(url: string, text: string) {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await client.query(text)
  } finally {
    await client.end()
  }
}
