import { spawn } from 'node:child_process'
import { access, chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { findFreePort } from './free-port.ts'
import { chooseServerUser, type ServerUser } from './postgres-binaries.ts'
import { waitForPostgres } from './postgres-readiness.ts'

/** Options of {@link startPgBouncer}. Every member but `url` has a default. */
export interface PgBouncerOptions {
  /** Connection string of the server behind it. */
  readonly url: string
  /** Connections to the server per database and user. Default 10. */
  readonly poolSize?: number | undefined
  /** Settings of `pgbouncer.ini`. */
  readonly settings?: Readonly<Record<string, string>> | undefined
}

/** A running PgBouncer in transaction mode: each transaction may go to another connection of the server. */
export interface PgBouncer {
  /** Connection string of the same database, through PgBouncer. */
  readonly url: string
  readonly port: number
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The path of the program; `undefined` when this machine has none. `OUTLAY_PGBOUNCER` names one explicitly. */
export async function findPgBouncer(): Promise<string | undefined> {
  const wanted = process.env.OUTLAY_PGBOUNCER
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin']
  for (const path of wanted ? [wanted] : folders.map((folder) => join(folder, 'pgbouncer'))) {
    const found = await access(path).then(
      () => true,
      () => false,
    )
    if (found) return path
  }
  return undefined
}

/**
 * Starts PgBouncer in transaction mode on 127.0.0.1, and stops it with this process.
 *
 * It admits every connection as the user of `url`, so it is only for tests.
 * @throws Error when the program is not installed, or with its output when it does not start.
 */
export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  const program = await findPgBouncer()
  if (program === undefined) throw new Error('PgBouncer is not installed; the Debian package is "pgbouncer".')
  const folder = await mkdtemp(join(tmpdir(), 'outlay-pgbouncer-'))
  // PgBouncer refuses to run as root, as Postgres does.
  const runAs = chooseServerUser()
  const port = await findFreePort()
  const config = join(folder, 'pgbouncer.ini')
  await writeFile(config, configure(options, port), { mode: 0o600 })
  await give(runAs, folder, config)
  const run = launch(program, config, folder, runAs)
  const stop = async () => {
    await run.end()
    await rm(folder, { recursive: true, force: true })
  }
  const url = new URL(options.url)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  try {
    await waitForPostgres(url.href, 60_000, run.failure)
  } catch (error) {
    await stop()
    throw error
  }
  return { url: url.href, port, stop, [Symbol.asyncDispose]: stop }
}

/** Runs the program, and a shell that ends it if this process ends first, which closes a pipe. */
function launch(program: string, config: string, folder: string, runAs: ServerUser) {
  const child = spawn(program, [config], { ...runAs, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  let failure: string | undefined
  const collect = (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-10_000)
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  const ended = new Promise<void>((resolve) => {
    const end = (reason: string) => {
      failure ??= reason
      resolve()
    }
    child.once('error', (error) => end(error.message))
    child.once('close', (code, signal) => end(`PgBouncer ended with ${signal ?? code}:\n${said}`))
  })
  const guard = spawn('/bin/sh', ['-c', guardScript, 'guard', String(child.pid ?? ''), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
  })
  guard.on('error', () => {})
  return {
    failure: () => failure,
    async end() {
      // SIGTERM ends it at once, without waiting for its clients.
      if (failure === undefined) child.kill('SIGTERM')
      await ended
      guard.kill('SIGKILL')
    },
  }
}

const guardScript = 'cat >/dev/null; [ -z "$1" ] || kill -TERM "$1"; rm -rf -- "$2"'

function configure({ url, poolSize = 10, settings }: PgBouncerOptions, port: number): string {
  const server = new URL(url)
  const word = (text: string) => `'${decodeURIComponent(text).replaceAll("'", "''")}'`
  const target = `host=${server.hostname} port=${server.port || 5432} user=${word(server.username)} password=${word(server.password)}`
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: String(poolSize),
    max_client_conn: '200',
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  return ['[databases]', `* = ${target}`, '', '[pgbouncer]', ...lines, ''].join('\n')
}

async function give({ uid, gid }: ServerUser, ...paths: readonly string[]): Promise<void> {
  if (uid === undefined || gid === undefined) return
  for (const path of paths) {
    await chmod(path, path === paths[0] ? 0o700 : 0o600)
    await chown(path, uid, gid)
  }
}
