import { type Postgres, startPostgres } from '@outlay/testing'
import { Client } from 'pg'

/** A server for a run. */
export interface BenchServer {
  /** Connection string of a superuser. */
  readonly url: string
  /** Version and the settings that matter here, for the report. */
  readonly description: readonly string[]
  /** False for a server that was given by its URL: others may use it. */
  readonly canRestart: boolean
  /** Shuts the server down, ends its sessions and starts it on the same port with its data. Throws Error where it cannot. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** Settings of the embedded server; everything else is at its default, durability above all. */
const settings = {
  max_connections: '1500',
  shared_buffers: '512MB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
}

const reported = [
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'wal_level',
  'shared_buffers',
  'max_connections',
  'max_wal_size',
  'checkpoint_timeout',
  'autovacuum',
  'commit_delay',
]

/** Joins the server at `url`, or starts an embedded one with durability on; `more` are settings for that one alone. */
export async function openServer(
  url: string | undefined,
  more: Readonly<Record<string, string>> = {},
): Promise<BenchServer> {
  const embedded: Postgres | undefined =
    url === undefined
      ? await startPostgres({ provider: 'embedded', durable: true, settings: { ...settings, ...more } })
      : undefined
  const serverUrl = embedded?.url ?? url
  if (serverUrl === undefined) throw new Error('There is no server.')
  return {
    url: serverUrl,
    description: await describe(serverUrl, embedded === undefined ? 'given by its URL' : 'embedded'),
    canRestart: embedded !== undefined,
    async restart() {
      if (embedded === undefined) throw new Error('A server that is given by its URL is not restarted.')
      await embedded.restart({ mode: 'fast' })
    },
    close: async () => embedded?.stop(),
  }
}

async function describe(url: string, origin: string): Promise<readonly string[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const version = await client.query<{ server_version: string }>('show server_version')
  const { rows } = await client.query<{ name: string; value: string }>(
    'select name, current_setting(name) as value from pg_settings where name = any ($1)',
    [reported],
  )
  await client.end()
  const values = new Map(rows.map(({ name, value }) => [name, value]))
  return [
    `PostgreSQL ${version.rows[0]?.server_version ?? '?'}, ${origin}`,
    reported.map((name) => `${name}=${values.get(name) ?? '?'}`).join(' '),
  ]
}
