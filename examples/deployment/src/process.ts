import { once as onceEmitted } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createProbes } from '@outlay/adapters-pg/probes'
import type { Engine } from '@outlay/core'
import type { Prometheus } from '@outlay/opentelemetry/prometheus'
import { type Environment, readHost, readProbePort } from './settings.ts'

/** A process that runs until it is stopped. */
export interface Running {
  /** Where its probes answer. */
  readonly probes: string
  /** Ends work in order; the probes answer until then. */
  stop(): Promise<void>
}

/** Starts to answer `/live`, `/ready` and `/metrics`; returns their address and what ends them. */
export async function startProbes<Tx>(
  engine: Pick<Engine<Tx>, 'workers' | 'check'>,
  { handle }: Prometheus,
  env: Environment,
): Promise<Running> {
  const server = createServer(createProbes(engine, { metrics: handle }).listener)
  const probes = await listen(server, readProbePort(env), readHost(env))
  return { probes, stop: () => close(server) }
}

/** The same function, whose later calls get the result of the first. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    result ??= work()
    return result
  }
}

/** Lets a server listen; returns its address. */
export async function listen(server: Server, port: number, host: string): Promise<string> {
  server.listen(port, host)
  await onceEmitted(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port.')
  return `http://${host}:${address.port}`
}

/** Ends a server: requests in progress have two seconds. */
export async function close(server: Server): Promise<void> {
  const closed = onceEmitted(server, 'close')
  server.close()
  server.closeIdleConnections()
  const grace = setTimeout(() => server.closeAllConnections(), 2_000)
  await closed
  clearTimeout(grace)
}

/**
 * Starts a process, keeps it running until the first SIGTERM or SIGINT, and then stops it. A signal during the start ends the wait for a
 * database that is away, or stops it when it has started; without a handler the kernel drops what is sent to the first process of a container. The second signal ends it at once.
 */
export async function runUntilStopped(start: (signal: AbortSignal) => Promise<Running>): Promise<void> {
  const stopping = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted) process.exit(130)
      stopping.abort()
    })
  }
  const running = await start(stopping.signal)
  if (!stopping.signal.aborted) await onceEmitted(stopping.signal, 'abort')
  await running.stop()
}
