import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freezeProcesses, type Postgres, startPostgres } from '@outlay/testing'

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
  return {
    url,
    async kill() {
      process.kill(await readPid(), 'SIGQUIT')
      await server.stop()
      return async () => {
        server = await start(port)
      }
    },
    freeze: async () => freezeProcesses(await readPid()),
    async close() {
      await server.stop()
      await rm(root, { recursive: true, force: true })
    },
  }
}
