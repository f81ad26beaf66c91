import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTcpProxy, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, expect, it } from 'vitest'
import { check } from './check.ts'
import { migratePayroll, migrateService, payday, register } from './jobs.ts'
import { close, listen, type Running } from './process.ts'
import { startService } from './service.ts'
import { startWorker } from './worker.ts'

const starting = { signal: new AbortController().signal, onFailure: () => {} }

const read = async (running: Pick<Running, 'probes'>, path: string) => {
  const response = await fetch(`${running.probes}${path}`)
  return { status: response.status, text: await response.text() }
}

describe('a deployment', async () => {
  const [bank, payroll] = [await testDatabase(), await testDatabase()]
  const folder = await mkdtemp(join(tmpdir(), 'outlay-deployment-'))
  const running = new AsyncDisposableStack()
  afterAll(async () => {
    await running.disposeAsync()
    await rm(folder, { recursive: true })
  })
  const anyPort = { PORT: '0', PROBE_PORT: '0', LOG_LEVEL: 'warn' }
  const credentialsFile = join(folder, 'payroll.json')
  const ofBank = {
    ...anyPort,
    DATABASE_URL: bank.url,
    OUTLAY_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    CREDENTIALS_FILE: credentialsFile,
  }
  const start = async <T extends Running>(begun: Promise<T>): Promise<T> => {
    const one = await begun
    running.defer(() => one.stop())
    return one
  }

  it('pays everybody: jobs, then the service and two workers, then a payroll', async () => {
    await migrateService(ofBank)
    expect(await register(ofBank)).toBe(true)
    const written = await readFile(credentialsFile, 'utf8')
    expect([await register(ofBank), await readFile(credentialsFile, 'utf8')]).toEqual([false, written])
    expect((await stat(credentialsFile)).mode & 0o077).toBe(0)
    const service = await start(startService(ofBank, starting))

    const ofPayroll = {
      ...anyPort,
      DATABASE_URL: payroll.url,
      SERVICE_URL: service.url,
      CREDENTIALS_FILE: credentialsFile,
    }
    await expect(startWorker(ofPayroll, starting)).rejects.toThrow('outlay migrate')
    await migratePayroll(ofPayroll)
    // Nobody works yet, so nothing becomes final.
    await expect(payday(ofPayroll, { people: 1, rounds: 2 })).rejects.toThrow('1 of 1 payslips are not final')
    const workers = [await start(startWorker(ofPayroll, starting)), await start(startWorker(ofPayroll, starting))]
    // One in forty has a bank account that rejects payments, and one that cannot be located.
    expect(await payday(ofPayroll)).toEqual({ paid: 38, refused: 2 })

    for (const one of [service, ...workers]) {
      expect((await read(one, '/live')).status).toBe(200)
      // On a busy machine the database may answer one probe too late, and a gauge may be late, and is left out of one scrape.
      await waitUntil(async () => (await read(one, '/ready')).status === 200)
      await waitUntil(async () =>
        /^outlay_transfer_backlog\{outlay_stage="blocked"\} 0$/m.test((await read(one, '/metrics')).text),
      )
    }
    const submitted = await Promise.all(workers.map((one) => read(one, '/metrics')))
    expect(submitted.map(({ text }) => text).join('\n')).toMatch(
      /^outlay_submit_outcomes_total\{.*accepted.*\} [1-9]\d*$/m,
    )
    expect((await read(service, '/metrics')).text).toMatch(/^http_server_request_duration_count\{/m)

    const [worker] = workers
    if (worker === undefined) throw new Error('There is no worker.')
    const probe = { HOST: '0.0.0.0', PROBE_PORT: new URL(worker.probes).port }
    expect(await check(probe)).toBe(true)
    await waitUntil(() => check(probe, '/ready'))
    await worker.stop()
    expect(await check(probe)).toBe(false)
  })

  it('is alive and not ready while its database is away at the start, and works when that is back', async () => {
    const { hostname, port } = new URL(payroll.url)
    await using proxy = await startTcpProxy({ host: hostname, port: Number(port) })
    const through = new URL(payroll.url)
    through.port = String(proxy.port)
    const free = createServer()
    const PROBE_PORT = new URL(await listen(free, 0, '127.0.0.1')).port
    await close(free)
    const probes = { probes: `http://127.0.0.1:${PROBE_PORT}` }
    const stopping = new AbortController()
    let failures = 0
    const onFailure = () => {
      failures += 1
    }
    const access = { SERVICE_URL: 'http://127.0.0.1:9', CLIENT_ID: '-', CLIENT_SECRET: '-' }
    // Silence first, then connections that are refused.
    proxy.stall()
    const worker = startWorker(
      { ...anyPort, ...access, DATABASE_URL: through.href, PROBE_PORT },
      { signal: stopping.signal, onFailure },
    )
    await waitUntil(async () => await check({ PROBE_PORT }))
    expect((await read(probes, '/ready')).status).toBe(503)
    proxy.cut()
    await waitUntil(() => failures > 0)
    expect([(await read(probes, '/live')).status, (await read(probes, '/ready')).status]).toEqual([200, 503])
    proxy.heal()
    const started = await worker
    await waitUntil(async () => (await read(probes, '/ready')).status === 200)
    await started.stop()
    // One that gets a signal while it waits ends.
    proxy.cut()
    const other = startWorker(
      { ...anyPort, ...access, DATABASE_URL: through.href },
      { signal: stopping.signal, onFailure: () => stopping.abort() },
    )
    await (await other).stop()
    expect(stopping.signal.aborted).toBe(true)
  })

  it('says which setting is missing or wrong', async () => {
    await expect(startWorker({}, starting)).rejects.toThrow('SERVICE_URL is not set.')
    await expect(startService({ DATABASE_URL: bank.url }, starting)).rejects.toThrow(
      'OUTLAY_ENCRYPTION_KEY is not set.',
    )
    await expect(startService({ DATABASE_URL: bank.url, OUTLAY_ENCRYPTION_KEY: 'c2hvcnQ=' }, starting)).rejects.toThrow(
      '32 octets',
    )
    await expect(register({ ...ofBank, CREDENTIALS_FILE: '' })).rejects.toThrow('CREDENTIALS_FILE is not set.')
    expect(await check({ PROBE_PORT: '1' })).toBe(false)
  })
})
