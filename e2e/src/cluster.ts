import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Postgres, type PostgresOptions, startPostgres, startTcpProxy, waitUntil } from '@outlay/testing'
import pg from 'pg'

const run = promisify(execFile)

/** A Postgres with its own data that a test may kill, copy and break. Its commits are on disk. */
export interface Cluster extends AsyncDisposable {
  readonly postgres: Postgres
  readonly dataDir: string
  /** Connection string of one of its databases, by name. */
  urlOf(database: string): string
  /** Runs one statement as a superuser. */
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>
  /** Ends the server with SIGKILL, as a loss of power does. */
  kill(): Promise<void>
}

/** The place of a cluster, and the options of its server. */
export interface ClusterOptions extends Pick<PostgresOptions, 'settings' | 'env'> {
  /** The data directory. Default: a temporary directory. */
  readonly dataDir?: string | undefined
}

/** Makes a directory that the server's user can access. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'outlay-cluster-'))
  await chmod(folder, 0o755)
  return folder
}

/** Starts an embedded server on a data directory that is kept until the cluster is disposed. */
export async function startCluster({ settings, env, ...options }: ClusterOptions = {}): Promise<Cluster> {
  const folder = options.dataDir === undefined ? await makeFolder() : undefined
  const dataDir = options.dataDir ?? join(folder ?? '', 'data')
  const postgres = await startPostgres({ provider: 'embedded', dataDir, settings, env })
  const urlOf = (database: string) => {
    const url = new URL(postgres.url)
    url.pathname = `/${database}`
    return url.href
  }
  return {
    postgres,
    dataDir,
    urlOf,
    async query(text, values = []) {
      const client = new pg.Client(postgres.url)
      client.on('error', () => undefined)
      await client.connect()
      try {
        return (await client.query(text, [...values])).rows
      } finally {
        await client.end().catch(() => undefined)
      }
    },
    async kill() {
      const pid = Number.parseInt(await readFile(join(dataDir, 'postmaster.pid'), 'utf8'), 10)
      process.kill(pid, 'SIGKILL')
      await waitUntil(() => !isRunning(pid), { timeoutMs: 60_000, describe: 'the server to end' })
    },
    async [Symbol.asyncDispose]() {
      await postgres.stop()
      if (folder !== undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A standby that streams from its primary until its cable is cut. */
export interface Standby extends Cluster {
  /** Waits until it has every commit of the primary so far. */
  catchUp(): Promise<void>
  /** Cuts the replication; only the primary has later commits. */
  cut(): void
  /** Promotes it to a primary. */
  promote(): Promise<void>
}

/** Makes a standby of a running server: a copy of its files during a backup, which then streams. */
export async function startStandby(primary: Cluster): Promise<Standby> {
  const folder = await makeFolder()
  const dataDir = join(folder, 'data')
  await copyWhileBackedUp(primary, dataDir)
  const { host, port, user, password } = primary.postgres
  const cable = await startTcpProxy({ host, port })
  const conninfo = `host=${cable.host} port=${cable.port} user=${user} password=${password}`
  const cluster = await startCluster({ dataDir, settings: { primary_conninfo: conninfo } })
  return {
    ...cluster,
    async catchUp() {
      const [at] = await primary.query<{ lsn: string }>('select pg_current_wal_lsn()::text as lsn')
      const replayed = 'select pg_last_wal_replay_lsn() >= $1::pg_lsn as done'
      await waitUntil(async () => (await cluster.query<{ done: boolean }>(replayed, [at?.lsn]))[0]?.done, {
        timeoutMs: 60_000,
        describe: 'the standby to catch up',
      })
    },
    cut: () => cable.cut(),
    async promote() {
      await cluster.query('select pg_promote(true, 100)')
    },
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]()
      await cable.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function copyWhileBackedUp(primary: Cluster, dataDir: string): Promise<void> {
  const backup = new pg.Client(primary.postgres.url)
  await backup.connect()
  try {
    await backup.query(`select pg_backup_start('standby', true)`)
    // The standby does not need a file that vanishes while it is copied.
    await run('cp', ['-a', primary.dataDir, dataDir]).catch(() => undefined)
    const { rows } = await backup.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    await rm(join(dataDir, 'postmaster.pid'), { force: true })
    await rm(join(dataDir, 'postmaster.opts'), { force: true })
    const owner = await stat(primary.dataDir)
    for (const [name, text] of [
      ['backup_label', rows[0]?.labelfile ?? ''],
      ['standby.signal', ''],
    ] as const) {
      await writeFile(join(dataDir, name), text)
      await run('chown', [`${owner.uid}:${owner.gid}`, join(dataDir, name)])
    }
  } finally {
    await backup.end()
  }
}
