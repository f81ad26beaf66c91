import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findFreePort } from './free-port.ts'
import {
  chooseServerUser,
  findBinaries,
  findClosedDirectory,
  type PostgresBinaries,
  type ServerUser,
} from './postgres-binaries.ts'
import { waitForPostgres } from './postgres-readiness.ts'
import { endOrphans, markProcess, registerServer } from './postgres-registry.ts'
import { chooseVersion, type PostgresOptions, type PostgresServer, type RestartMode } from './postgres-server.ts'

const user = 'postgres'
const password = 'postgres'
const keptLogLines = 200
/** How long another process may have the port of a server. */
const portPatienceMs = 30_000

/** State that the runs of one server share. */
interface Cluster {
  readonly version: number
  readonly binaries: PostgresBinaries
  readonly runAs: ServerUser
  readonly dataDir: string
  /** Directory to remove at the end; null when the data stay. */
  readonly removeDir: string | null
  readonly settings: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string>>
  readonly startTimeoutMs: number
  readonly log: string[]
}

/** One run of the server. */
interface Run {
  readonly port: number
  readonly ended: Promise<void>
  /** Sends the signal and resolves when the server has ended. */
  end(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>
}

/** Starts the PostgreSQL from npm, on 127.0.0.1. It ends with this process, even if this process is killed. */
export async function startEmbeddedPostgres(options: PostgresOptions): Promise<PostgresServer> {
  await endOrphans()
  const cluster = await prepareCluster(options)
  let run: Run
  try {
    run = await startOnPort(cluster, options.port)
  } catch (error) {
    if (cluster.removeDir !== null) await rm(cluster.removeDir, { recursive: true, force: true })
    throw error
  }
  const { port } = run
  let stopped: Promise<void> | undefined
  const stop = async () => {
    await run.end(cluster.removeDir === null ? 'SIGINT' : 'SIGQUIT')
    if (cluster.removeDir !== null) await rm(cluster.removeDir, { recursive: true, force: true })
  }
  return {
    url: urlOf(port),
    restart: async (mode: RestartMode) => {
      if (stopped !== undefined) throw new Error('The server has been stopped.')
      await run.end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
      run = await startOnPort(cluster, port)
    },
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  }
}

async function prepareCluster(options: PostgresOptions): Promise<Cluster> {
  const runAs = chooseServerUser()
  const version = chooseVersion(options, process.env)
  const binaries = await findBinaries(runAs, version)
  const removeDir = options.dataDir === undefined ? await mkdtemp(join(tmpdir(), 'outlay-postgres-')) : null
  const dataDir = options.dataDir ?? join(removeDir ?? '', 'data')
  const cluster: Cluster = {
    version,
    binaries,
    runAs,
    dataDir,
    removeDir,
    settings: {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '600',
      fsync: (options.durable ?? true) ? 'on' : 'off',
      timezone: 'UTC',
      log_timezone: 'UTC',
      ...options.settings,
    },
    env: options.env ?? {},
    startTimeoutMs: options.startTimeoutMs ?? 60_000,
    log: [],
  }
  if (removeDir !== null) await giveTo(runAs, removeDir)
  if (!(await isInitialized(dataDir))) await initialize(cluster)
  return cluster
}

async function isInitialized(dataDir: string): Promise<boolean> {
  return stat(join(dataDir, 'PG_VERSION')).then(
    () => true,
    () => false,
  )
}

async function initialize(cluster: Cluster): Promise<void> {
  await mkdir(cluster.dataDir, { recursive: true })
  await giveTo(cluster.runAs, cluster.dataDir)
  if (cluster.removeDir === null && cluster.runAs.uid !== undefined) {
    const closed = await findClosedDirectory(cluster.dataDir)
    if (closed !== undefined)
      throw new Error(
        `${closed} is closed to the user with the id ${cluster.runAs.uid}, who runs the server, so dataDir cannot be in it.`,
      )
  }
  const secretDir = await mkdtemp(join(tmpdir(), 'outlay-initdb-'))
  const passwordFile = join(secretDir, 'password')
  try {
    await writeFile(passwordFile, password, { mode: 0o600 })
    await giveTo(cluster.runAs, secretDir)
    await giveTo(cluster.runAs, passwordFile)
    const initdb = launch(cluster, cluster.binaries.initdb, [
      `--pgdata=${cluster.dataDir}`,
      `--username=${user}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The same collation on every machine.
      '--locale=C',
      ...(cluster.version < 17 ? [] : ['--locale-provider=builtin', '--builtin-locale=C.UTF-8']),
      '--no-sync',
    ])
    const code = await new Promise<number | null>((resolve, reject) => {
      initdb.once('error', reject)
      initdb.once('close', resolve)
    })
    if (code !== 0) throw new Error(`initdb ended with ${code}:\n${cluster.log.join('\n')}`)
  } finally {
    await rm(secretDir, { recursive: true, force: true })
  }
}

/**
 * Another process may bind a port between the moment it was found free and the moment the server binds it. A port that is `wanted`
 * may have been free since the last run of the server, and is awaited.
 */
async function startOnPort(cluster: Cluster, wanted: number | undefined): Promise<Run> {
  const deadline = performance.now() + portPatienceMs
  for (;;) {
    const port = wanted ?? (await findFreePort())
    try {
      return await startRun(cluster, port)
    } catch (error) {
      const inUse = cluster.log.some((line) => line.includes('Address already in use'))
      if (!inUse || performance.now() > deadline) throw error
      cluster.log.length = 0
      if (wanted !== undefined) await delay(200)
    }
  }
}

async function startRun(cluster: Cluster, port: number): Promise<Run> {
  const flags = Object.entries({ ...cluster.settings, port: String(port) }).flatMap(([k, v]) => ['-c', `${k}=${v}`])
  const server = launch(cluster, cluster.binaries.postgres, ['-D', cluster.dataDir, ...flags])
  let failure: string | undefined
  const ended = new Promise<void>((resolve) => {
    server.once('error', (error) => {
      failure = error.message
      resolve()
    })
    server.once('close', (code, signal) => {
      failure ??= `it ended with ${signal ?? code}:\n${cluster.log.join('\n')}`
      resolve()
    })
  })
  const endGuard = server.pid === undefined ? async () => {} : await guard(cluster, server.pid)
  const run: Run = {
    port,
    ended,
    end: async (signal) => {
      if (failure === undefined) server.kill(signal)
      await ended
      await endGuard()
    },
  }
  try {
    await waitForPostgres(urlOf(port), cluster.startTimeoutMs, () => failure)
    return run
  } catch (error) {
    await run.end('SIGQUIT')
    throw error
  }
}

/**
 * Ensures that the server does not outlive this process: a shell waits for the end of a pipe that this process holds and then ends
 * the server. If the shell is killed too, the next start finds the server in the registry.
 */
async function guard(cluster: Cluster, serverPid: number): Promise<() => Promise<void>> {
  const [owner, server] = await Promise.all([markProcess(process.pid), markProcess(serverPid)])
  const entry = await registerServer({ owner, server, dataDir: cluster.dataDir, removeDir: cluster.removeDir })
  const signal = cluster.removeDir === null ? 'INT' : 'QUIT'
  const watcher =
    process.platform === 'win32'
      ? undefined
      : spawn('/bin/sh', ['-c', guardScript, 'guard', String(serverPid), signal, entry, cluster.removeDir ?? ''], {
          detached: true,
          stdio: ['pipe', 'ignore', 'ignore'],
          cwd: '/',
        })
  watcher?.on('error', () => {})
  return async () => {
    watcher?.kill('SIGKILL')
    await rm(entry, { force: true })
  }
}

const guardScript = `
cat >/dev/null
kill -"$2" "$1"
for round in $(seq 200); do kill -0 "$1" 2>/dev/null || break; sleep 0.05; done
[ -z "$4" ] || rm -rf -- "$4"
rm -f -- "$3"
`

/** Runs a program of Postgres as its user, without the terminal's signals, and keeps the end of its output. */
function launch(cluster: Cluster, program: string, args: readonly string[]): ChildProcess {
  const child = spawn(program, args, {
    ...cluster.runAs,
    cwd: cluster.dataDir,
    detached: true,
    env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC', ...cluster.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const keep = (chunk: Buffer) => {
    cluster.log.push(...chunk.toString('utf8').trimEnd().split('\n'))
    cluster.log.splice(0, cluster.log.length - keptLogLines)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  return child
}

async function giveTo(owner: ServerUser, path: string): Promise<void> {
  if ((await stat(path)).isDirectory()) await chmod(path, 0o700)
  if (owner.uid !== undefined && owner.gid !== undefined) await chown(path, owner.uid, owner.gid)
}

function urlOf(port: number): string {
  return `postgres://${user}:${password}@127.0.0.1:${port}/postgres`
}
