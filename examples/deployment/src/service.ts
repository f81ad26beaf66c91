import { getRequestListener } from '@hono/node-server'
import { openTelemetry } from '@outlay/opentelemetry'
import { prometheus } from '@outlay/opentelemetry/prometheus'
import { createService, limitedServer, type Service, type ServiceOptions } from '@outlay/service'
import { pinoLogger } from '@outlay/service/logging'
import pg from 'pg'
import { close, listen, once, type Running, startProbes } from './process.ts'
import { demand, type Environment, readEncryptionKey, readHost, readLogLevel, readPort } from './settings.ts'

/** A service with simulated rails on the database of DATABASE_URL. A bank gives rails of its own here. */
export function openService(
  env: Environment,
  options: Pick<ServiceOptions, 'telemetry' | 'logger'> = {},
): { readonly service: Service; readonly pool: pg.Pool } {
  const encryptionKey = readEncryptionKey(env)
  const pool = new pg.Pool({ connectionString: demand(env, 'DATABASE_URL'), max: 20, connectionTimeoutMillis: 10_000 })
  pool.on('error', () => {})
  const service = createService({ pool, rails: 'simulated', encryptionKey, ...options })
  return { service, pool }
}

/** Starts the service and its server. */
export async function startService(env: Environment): Promise<Running & { readonly url: string }> {
  const metrics = prometheus()
  const logger = pinoLogger({ level: readLogLevel(env) })
  const { service, pool } = openService(env, {
    telemetry: openTelemetry({ meterProvider: metrics.meterProvider }),
    logger,
  })
  const probes = await startProbes(service.context.engine, metrics, env)
  const server = limitedServer()({}, getRequestListener(service.fetch))
  const stop = once(async () => {
    if (server.listening) await close(server)
    await service.stop()
    await probes.stop()
    await pool.end()
  })
  try {
    await service.start()
    const url = await listen(server, readPort(env, 'PORT', 4_010), readHost(env))
    return { url, probes: probes.probes, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
