import { startFaultProxy, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, it } from 'vitest'
import { startCluster } from './cluster.ts'
import { makeFakeClock } from './fault-library.ts'
import { type Host, migrateHost } from './host.ts'
import { creates, openScene } from './scene.ts'
import { openStageHost, type Stage, seedClient, setStage, settleAll, startService } from './stage.ts'

const clock = await makeFakeClock()
if (typeof clock === 'string') console.warn(`Not tested with the clock of Postgres jumping: ${clock}.`)

const hour = 3_600

const enqueue = (host: Host, stage: Stage, count: number) =>
  host.transaction((tx) =>
    host.engine.transfers.enqueueMany(
      tx,
      Array.from({ length: count }, () => stage.payout()),
    ),
  )

describe('a clock that jumps by hours', { timeout: 300_000 }, async () => {
  const hosts = await testDatabase({ key: 'host', prepare: migrateHost })
  const services = await testDatabase({ role: 'ordinary' })
  const sandbox = await startService(services.url)
  afterAll(async () => {
    await sandbox.stop()
    if (typeof clock !== 'string') await clock[Symbol.asyncDispose]()
  })

  it.skipIf(typeof clock === 'string').concurrent.for([
    ['forward and back', [3 * hour, 0]],
    ['back and forward', [-3 * hour, 0]],
  ] as const)("of Postgres, the host's and the service's, %s: all is paid once", async ([, jumps], { expect }) => {
    const fake = await makeFakeClock()
    if (typeof fake === 'string') throw new Error(fake)
    await using _fake = fake
    await using cluster = await startCluster({ env: fake.env })
    for (const name of ['site', 'service']) await cluster.postgres.createDatabase(name)
    await migrateHost(cluster.urlOf('site'))
    await using service = await startService(cluster.urlOf('service'))
    await using proxy = await startFaultProxy({ target: service.url })
    const stage = await setStage(service.url, await service.seedClient(seedClient))
    const host = openStageHost(stage, cluster.urlOf('site'), proxy.url, { jitter: 0.05 })
    await host.engine.start()
    let count = 0
    const add = async () => {
      await enqueue(host, stage, 10)
      count += 10
    }
    for (const ahead of jumps) {
      // Some are settled, some are polled, some are in flight, some are lost in flight, and some come later.
      await add()
      const lost = proxy.faults.add({ ...creates, times: 3, fault: { kind: 'drop_response' } })
      const answers = proxy.faults.hold({ ...creates, at: 'response' })
      await add()
      await answers.waitFor(5, 60_000)
      await fake.setAhead(ahead)
      const [there] = await cluster.query<{ ahead: number }>(
        'select extract(epoch from clock_timestamp())::float8 - $1::float8 as ahead',
        [Date.now() / 1_000],
      )
      expect(Math.abs((there?.ahead ?? 0) - ahead)).toBeLessThan(hour)
      answers.release()
      await add()
      const { host: stored, service: paid, effects } = await settleAll(stage, host, 200_000)
      lost.remove()
      expect(stored).toHaveLength(count)
      expect(paid.map(({ id }) => id).sort()).toEqual(stored.map(({ remoteId }) => remoteId).sort())
      expect(new Set(stored.map(({ status }) => status))).toEqual(new Set(['complete']))
      expect(effects).toHaveLength(count)
    }
    expect(Number(await stage.balance())).toBe(1_000_000 - 12.5 * count)
    await host.close()
    await stage.client.close()
  })

  it.concurrent('of a worker, a day forward and back: it decides neither what is unknown nor what expires', async ({
    expect,
  }) => {
    let aheadMs = 0
    const worker = { now: () => new Date(Date.now() + aheadMs) }
    await using scene = await openScene(sandbox, await hosts.another(), { host: { clock: worker } })
    const rule = scene.proxy.faults.add({ ...creates, fault: { kind: 'drop_response' } })
    const { id } = await scene.enqueue()
    await scene.host.engine.start()
    await scene.reach(id, { stage: 'queued', reason: 'outcome_unknown' })
    aheadMs = 25 * hour * 1_000
    // An attempt that is under way has no outcome yet.
    const ended = async (one: string) => (await scene.outcomes(one)).filter((outcome) => outcome !== null)
    const tried = (await ended(id)).length
    await waitUntil(async () => (await ended(id)).length >= tried + 2, { timeoutMs: 60_000 })
    const late = await scene.enqueue({ expiresAt: new Date(Date.now() + hour * 1_000) })
    await waitUntil(async () => (await ended(late.id)).length > 0, { timeoutMs: 60_000 })
    expect(new Set(await ended(id))).toEqual(new Set(['unknown']))
    expect(new Set(await ended(late.id))).toEqual(new Set(['unknown']))
    aheadMs = 0
    rule.remove()
    for (const one of [id, late.id]) {
      await waitUntil(async () => (await scene.outcomes(one)).at(-1) === 'accepted', { timeoutMs: 60_000 })
    }
    const { service } = await settleAll(scene.stage, scene.host)
    expect(service).toHaveLength(2)
  })
})
