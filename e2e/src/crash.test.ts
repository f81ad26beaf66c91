import { type CrashPoint, crashPointNames, spawnUntil, startFaultProxy, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { toEnvironment } from './host.ts'
import { testSite } from './site.ts'
import { openStageHost, seedClient, setStage, settleAll } from './stage.ts'

const workerFile = new URL('./worker-main.ts', import.meta.url)
const enqueueFile = new URL('./enqueue-main.ts', import.meta.url)

/** The fate of a transfer whose process is killed at a point. */
const cases: readonly {
  readonly point: CrashPoint
  readonly entry: URL
  readonly what: string
  /** The number of payouts at the end. */
  readonly payouts: 0 | 1
  readonly rollsBack?: boolean
}[] = [
  { point: 'enqueue_written', entry: enqueueFile, what: 'nothing is sent', payouts: 0 },
  { point: 'enqueue_committed', entry: enqueueFile, what: 'the transfer is sent all the same', payouts: 1 },
  { point: 'claimed', entry: workerFile, what: 'another worker claims the transfer', payouts: 1 },
  { point: 'request_left', entry: workerFile, what: 'it arrives late, and the next attempt is the same', payouts: 1 },
  { point: 'answer_on_its_way', entry: workerFile, what: 'the next attempt gets the same answer', payouts: 1 },
  { point: 'answered', entry: workerFile, what: 'the next attempt gets the same answer', payouts: 1 },
  { point: 'settling', entry: workerFile, what: 'the database finishes it', payouts: 1 },
  { point: 'settling', entry: workerFile, what: 'the database rolls it back', payouts: 1, rollsBack: true },
  { point: 'polled', entry: workerFile, what: 'another worker polls', payouts: 1 },
  { point: 'handler_started', entry: workerFile, what: 'another worker handles the event', payouts: 1 },
  { point: 'handler_done', entry: workerFile, what: 'its writes are gone and made again', payouts: 1 },
  { point: 'handler_committed', entry: workerFile, what: 'the event is not handled again', payouts: 1 },
]

// Most cases wait for the heartbeat of a killed worker to lapse, so they run in parallel, each with its own database.
describe('a process killed with SIGKILL', { timeout: 300_000 }, async () => {
  const { hosts, sandbox } = await testSite()

  it('is killed at every point that has a name', () => {
    expect([...new Set(cases.map(({ point }) => point))]).toEqual(crashPointNames)
  })

  it.concurrent.for(cases)('at $point: $what', async ({ point, entry, payouts, rollsBack }, { expect }) => {
    const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
    await using proxy = await startFaultProxy({ target: sandbox.url })
    const databaseUrl = await hosts.another()
    const host = openStageHost(stage, databaseUrl, proxy.url)
    const env = toEnvironment(stage.settings(databaseUrl, proxy.url))
    await using doomed = await spawnUntil(entry, point, { env, proxy, databaseUrl, readyTimeoutMs: 90_000 })
    const payout = stage.payout({ idempotencyKey: 'the-only-one' })
    if (entry === enqueueFile) doomed.program.send({ ...payout })
    else await host.transaction((tx) => host.engine.transfers.enqueue(tx, payout))
    if (point === 'polled' || point.startsWith('handler')) await runUntil(stage, () => doomed.reached(100))
    else await doomed.reached(60_000)
    expect(await doomed.kill({ rollsBack })).toEqual({ code: null, signal: 'SIGKILL' })

    await host.engine.start()
    const account = await settleAll(stage, host, 120_000)
    await host.close()
    await stage.client.close()
    expect(account.host).toHaveLength(payouts)
    expect(account.service).toEqual(account.host.map(({ remoteId }) => ({ id: remoteId, status: 'complete' })))
    expect(account.host.every(({ status }) => status === 'complete')).toBe(true)
    expect(account.effects).toEqual(account.host.map(({ id }) => ({ transfer_id: id, type: 'transfer.completed' })))
  })
})

/** Lets the service's time run until the process has reached its point. */
async function runUntil(stage: { advance(seconds: number): Promise<void> }, reached: () => Promise<void>) {
  await waitUntil(
    async () => {
      await stage.advance(60)
      return reached().then(
        () => true,
        () => false,
      )
    },
    { timeoutMs: 120_000, describe: 'the process to reach its point' },
  )
}
