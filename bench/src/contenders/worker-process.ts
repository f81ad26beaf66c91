import { spawnNode } from '@outlay/testing'
import { request } from 'undici'
import type { HttpProcessReady } from '../http-process.ts'
import type { ClientUsage } from '../measurement.ts'

/** A worker in its own process. */
export interface WorkerProcess {
  /** Requests that its gateway has answered so far. */
  handled(): Promise<number>
  /** Memory that it has in use, in bytes. */
  residentBytes(): Promise<number>
  usage(): Promise<ClientUsage>
  /** Waits until requests in flight have ended; returns how many were answered in all. */
  stop(): Promise<number>
}

/** Options for starting a worker process. */
export interface WorkerProcessOptions {
  readonly databaseUrl: string
  readonly concurrency: number
  /** Delay of its gateway's answers. */
  readonly latencyMs: number
}

/** Starts a worker process. */
export async function startWorkerProcess(options: WorkerProcessOptions): Promise<WorkerProcess> {
  const program = await spawnNode(new URL('./worker-main.ts', import.meta.url), {
    env: {
      DATABASE_URL: options.databaseUrl,
      CONCURRENCY: String(options.concurrency),
      LATENCY_MS: String(options.latencyMs),
    },
  })
  const { url, usageUrl } = program.ready as unknown as HttpProcessReady
  const read = async <T>(from: string) => (await (await request(from)).body.json()) as T
  return {
    handled: async () => (await read<{ handled: number }>(url)).handled,
    residentBytes: async () => (await read<{ residentBytes: number }>(url)).residentBytes,
    usage: () => read<ClientUsage>(usageUrl),
    async stop() {
      const { code } = await program.stop(30_000)
      const last = program.lines.findLast((line) => line.startsWith('{"handled"'))
      if (code !== 0 || last === undefined) throw new Error(`A worker ended with ${code}: ${program.stderr()}`)
      return (JSON.parse(last) as { readonly handled: number }).handled
    },
  }
}

/** The usage of several processes together. */
export async function sumUsage(workers: readonly WorkerProcess[]): Promise<ClientUsage> {
  const all = await Promise.all(workers.map((worker) => worker.usage()))
  return {
    cpuUs: all.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
    statements: all.reduce((sum, { statements }) => sum + statements, 0),
  }
}
