import { getRequestListener } from '@hono/node-server'
import { openTelemetry } from '@outlay/opentelemetry'
import { prometheus } from '@outlay/opentelemetry/prometheus'
import { createService, limitedServer, type Service, type ServiceOptions } from '@outlay/service'
import { pinoLogger } from '@outlay/service/logging'
import pg from 'pg'
import { close, listen, once, type Running, startProbes } from './process.ts'
import {
  type Environment,
  readDatabase,
  readDatabaseOfProcess,
  readEncryptionKey,
  readHost,
  readLogLevel,
  readPort,
} from './settings.ts'
import { type StartOptions, startWhenReachable } from './start.ts'

/** A service with simulated rails on the database of the environment. A bank gives rails of its own here. */
export function openService(
  env: Environment,
  options: Pick<ServiceOptions, 'telemetry' | 'logger'> = {},
  database = readDatabase(env),
): { readonly service: Service; readonly pool: pg.Pool } {
  const encryptionKey = readEncryptionKey(env)
  const pool = new pg.Pool({ ...database, max: 20 })
  pool.on('error', () => {})
  const service = createService({ pool, rails: 'simulated', encryptionKey, ...options })
  return { service, pool }
}

/** Starts the service and its server. While its database is away the process is alive, and nothing listens yet. */
export async function startService(
  env: Environment,
  starting: StartOptions,
): Promise<Running & { readonly url: string }> {
  const metrics = prometheus()
  const logger = pinoLogger({ level: readLogLevel(env) })
  const telemetry = openTelemetry({ meterProvider: metrics.meterProvider })
  const { service, pool } = openService(env, { telemetry, logger }, readDatabaseOfProcess(env))
  const probes = await startProbes(service.context.engine, metrics, env)
  const server = limitedServer()({}, getRequestListener(service.fetch))
  const stop = once(async () => {
    if (server.listening) await close(server)
    await service.stop()
    await probes.stop()
    await pool.end()
  })
  try {
    if (!(await startWhenReachable(() => service.start(), starting))) return { url: '', probes: probes.probes, stop }
    const url = await listen(server, readPort(env, 'PORT', 4_010), readHost(env))
    return { url, probes: probes.probes, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
