import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Postgres, startPostgres, waitUntil } from '@outlay/testing'
import pg from 'pg'

const run = promisify(execFile)

/** Servers whose files can be copied. */
export interface Clusters extends AsyncDisposable {
  /** Starts a server on files of its own, or on those of a copy. */
  start(name: string, settings?: Readonly<Record<string, string>>): Promise<Postgres>
  /** Copies the files of a server, as a snapshot of its disk does. One that runs has to be in backup mode. */
  copy(from: string, to: string): Promise<void>
  /** Makes a base copy of a running server. */
  backUp(server: Postgres, from: string, to: string): Promise<void>
  /** Makes the next start of these files a restore: it recovers to the end of the log that it has, on a timeline of its own. */
  restoreNext(name: string): Promise<void>
  /** Makes the next start of these files a standby of a server. */
  standByNext(name: string): Promise<void>
}

/** Makes a folder for servers. */
export async function openClusters(): Promise<Clusters> {
  const root = await mkdtemp(join(tmpdir(), 'outlay-clusters-'))
  // The server runs as another user than root.
  await chmod(root, 0o755)
  const servers: Postgres[] = []
  const place = (name: string) => join(root, name)
  const touch = async (name: string, file: string) => {
    await writeFile(join(place(name), file), '')
    await run('chown', ['--reference', place(name), join(place(name), file)])
  }
  const copy = async (from: string, to: string) => {
    await run('cp', ['-a', place(from), place(to)])
    await rm(join(place(to), 'postmaster.pid'), { force: true })
  }
  return {
    async start(name, settings = {}) {
      const server = await startPostgres({ provider: 'embedded', dataDir: place(name), durable: false, settings })
      servers.push(server)
      return server
    },
    copy,
    async backUp(server, from, to) {
      const admin = new pg.Client(server.url)
      await admin.connect()
      await admin.query(`select pg_backup_start('copy', true)`)
      await copy(from, to)
      const { rows } = await admin.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
      // The log that was written during the copy belongs to it.
      await run('cp', ['-a', `${join(place(from), 'pg_wal')}/.`, join(place(to), 'pg_wal')])
      await touch(to, 'backup_label')
      await writeFile(join(place(to), 'backup_label'), rows[0]?.labelfile ?? '')
      await admin.end()
    },
    restoreNext: (name) => touch(name, 'recovery.signal'),
    standByNext: (name) => touch(name, 'standby.signal'),
    async [Symbol.asyncDispose]() {
      for (const server of servers) await server.stop().catch(() => undefined)
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** Settings of a server that restores from the log that it has. */
export const restoring = { restore_command: 'false' }

/** Settings of a standby of a server. */
export const standbyOf = ({ host, port, user, password }: Postgres) => ({
  primary_conninfo: `host=${host} port=${port} user=${user} password=${password}`,
  hot_standby: 'on',
})

/** Waits until a server has ended its recovery. */
export async function waitForPrimary(url: string): Promise<void> {
  const admin = new pg.Client(url)
  await admin.connect()
  await waitUntil(async () => (await admin.query('select pg_is_in_recovery() as r')).rows[0]?.r === false, {
    timeoutMs: 60_000,
  })
  await admin.end()
}
