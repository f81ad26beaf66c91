import { openDatabase } from '@outlay/example-payroll/database'
import { createPayrollEngine } from '@outlay/example-payroll/engine'
import { openTelemetry } from '@outlay/opentelemetry'
import { prometheus } from '@outlay/opentelemetry/prometheus'
import { once, type Running, startProbes } from './process.ts'
import { type Environment, readAccess, readDatabaseOfProcess } from './settings.ts'
import { type StartOptions, startWhenReachable } from './start.ts'

/**
 * Starts a worker of the payroll application: it submits transfers, polls them until they are final, and marks payslips. While its database is
 * away it is alive and not ready.
 */
export async function startWorker(env: Environment, starting: StartOptions): Promise<Running> {
  const access = readAccess(env)
  const metrics = prometheus()
  const db = openDatabase(readDatabaseOfProcess(env))
  const engine = createPayrollEngine(db, access, openTelemetry({ meterProvider: metrics.meterProvider }))
  // Before the start: a start that waits for the database is not ready, and alive.
  const probes = await startProbes(engine, metrics, env)
  const stop = once(async () => {
    await engine.stop()
    await probes.stop()
    await db.$client.end()
  })
  try {
    await startWhenReachable(() => engine.start(), starting)
  } catch (error) {
    await stop()
    throw error
  }
  return { probes: probes.probes, stop }
}
