/**
 * Makes one payout with traces on at both ends, the host's and the service's, and prints its one trace: from the host's
 * request through the enqueue, the worker, HTTP and the service to the host's handler. `docs/guides/telemetry.md` shows it.
 */
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { httpGateway, outlayKeyLifetimeMs } from '@outlay/http-client'
import { openTelemetry } from '@outlay/opentelemetry'
import { startSandbox } from '@outlay/service/sandbox'
import { startPostgres, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { advanceClock, preparePayout } from './payout.ts'
import { drawTrace, nestSpans, openTracing } from './tracing.ts'

await main()

async function main(): Promise<void> {
  await using running = new AsyncDisposableStack()
  const server = running.use(await startPostgres())
  const openDatabase = async () => {
    const url = await server.createDatabase()
    running.defer(() => server.dropDatabase(url))
    return url
  }
  const [hostUrl, serviceUrl] = [await openDatabase(), await openDatabase()]
  nestSpans()

  const bank = openTelemetry({ tracerProvider: openTracing('bank') })
  const sandbox = running.use(await startSandbox({ databaseUrl: serviceUrl, telemetry: bank }))
  const { credentials, payout } = await preparePayout(sandbox)

  const tracerProvider = openTracing('payroll')
  const tracer = tracerProvider.getTracer('payroll')
  const telemetry = openTelemetry({ tracerProvider })
  const pool = new pg.Pool({ connectionString: hostUrl })
  running.defer(() => pool.end())
  const driver = pgDriver(pool)
  const engine = createEngine({
    backend: postgres({ driver }),
    gateway: httpGateway({ baseUrl: sandbox.url, credentials, telemetry, keyLifetimeMs: outlayKeyLifetimeMs }),
    polling: { maxDelayMs: 250 },
    telemetry,
  })
  await engine.migrate()

  let paid = false
  engine.subscribe('payslips', ['transfer.completed'], async () => {
    tracer.startSpan('write payslip').end()
    paid = true
  })

  const traceId = await tracer.startActiveSpan('POST /payday', async (span) => {
    await driver.transaction((tx) => engine.transfers.enqueue(tx, payout))
    span.end()
    return span.spanContext().traceId
  })
  await engine.start()
  const isPaid = async () => {
    await advanceClock(sandbox)
    return paid
  }
  await waitUntil(isPaid, { timeoutMs: 60_000, describe: 'the payout to complete' })
  // Both sides finish their work; then the trace is complete.
  await engine.stop()
  await sandbox.stop()
  console.log(drawTrace(traceId))
}
