import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { waitUntil } from './harness.ts'
import { type Postgres, startPostgres } from './postgres.ts'

const run = promisify(execFile)

/** Embedded servers whose files can be copied, for tests of restores and of standbys. */
export interface PostgresClusters extends AsyncDisposable {
  /** Starts a server on files of its own, or on those of a copy. It does not wait for the disk, unless the settings say `fsync: 'on'`. */
  start(name: string, settings?: Readonly<Record<string, string>>): Promise<Postgres>
  /** Ends a server at once, as a machine that is gone does. */
  kill(name: string): Promise<void>
  /** Copies the files of a server, as a snapshot of its disk does. One that runs has to be in backup mode. */
  copy(from: string, to: string): Promise<void>
  /** Makes a base copy of a running server. */
  backUp(server: Postgres, from: string, to: string): Promise<void>
  /** Makes the next start of these files a restore: it recovers to the end of the log that it has, on a timeline of its own. */
  restoreNext(name: string): Promise<void>
  /** Makes the next start of these files a standby of a server. */
  standByNext(name: string): Promise<void>
}

/** Makes a folder for servers, which is removed at the end. */
export async function openPostgresClusters(): Promise<PostgresClusters> {
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
    await copyFiles(place(from), place(to))
    await rm(join(place(to), 'postmaster.pid'), { force: true })
  }
  return {
    async start(name, settings = {}) {
      const server = await startPostgres({ provider: 'embedded', dataDir: place(name), durable: false, settings })
      servers.push(server)
      return server
    },
    async kill(name) {
      const [pid = ''] = (await readFile(join(place(name), 'postmaster.pid'), 'utf8')).split('\n')
      process.kill(Number(pid), 'SIGKILL')
    },
    copy,
    async backUp(server, from, to) {
      const admin = new Client(server.url)
      await admin.connect()
      await admin.query(`select pg_backup_start('copy', true)`)
      await copy(from, to)
      const { rows } = await admin.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
      // The log that was written during the copy belongs to it.
      await copyFiles(`${join(place(from), 'pg_wal')}/.`, join(place(to), 'pg_wal'))
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

/** Files that a running server removes meanwhile are in its log. */
async function copyFiles(from: string, to: string): Promise<void> {
  await run('cp', ['-a', from, to]).catch((error: unknown) => {
    const lines = String((error as { readonly stderr?: unknown }).stderr)
      .trim()
      .split('\n')
    if (!lines.every((line) => line.endsWith('No such file or directory'))) throw error
  })
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
  const admin = new Client(url)
  await admin.connect()
  await waitUntil(async () => (await admin.query('select pg_is_in_recovery() as r')).rows[0]?.r === false, {
    timeoutMs: 60_000,
  })
  await admin.end()
}
