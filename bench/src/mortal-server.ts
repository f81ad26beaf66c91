import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Postgres, startPostgres } from '@outlay/testing'

const run = promisify(execFile)

/** A server of a benchmark that is taken away and comes back, on the same port and with its data. */
export interface MortalServer {
  readonly url: string
  /** Kills it; gives what starts it again. */
  kill(): Promise<() => Promise<void>>
  /** Stops its processes where they are, so that nothing is refused and nothing answers; gives what lets them go on. */
  freeze(): Promise<() => Promise<void>>
  close(): Promise<void>
}

/** Starts one. */
export async function openMortalServer(): Promise<MortalServer> {
  const root = await mkdtemp(join(tmpdir(), 'outlay-bench-'))
  // The server runs as another user than root.
  await chmod(root, 0o755)
  const dataDir = join(root, 'data')
  const start = (port?: number) => startPostgres({ provider: 'embedded', durable: true, dataDir, port })
  let server: Postgres = await start()
  const { url, port } = server
  const readPid = async () => Number((await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n')[0])
  const signalAll = async (pid: number, signal: 'SIGSTOP' | 'SIGCONT') => {
    // The first one begins no more processes.
    if (signal === 'SIGSTOP') process.kill(pid, signal)
    const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(pid)])
    for (const child of stdout.trim().split(/\s+/)) process.kill(Number(child), signal)
    if (signal === 'SIGCONT') process.kill(pid, signal)
  }
  return {
    url,
    async kill() {
      process.kill(await readPid(), 'SIGQUIT')
      await server.stop()
      return async () => {
        server = await start(port)
      }
    },
    async freeze() {
      const pid = await readPid()
      await signalAll(pid, 'SIGSTOP')
      return () => signalAll(pid, 'SIGCONT')
    },
    async close() {
      await server.stop()
      await rm(root, { recursive: true, force: true })
    },
  }
}
