import { startPostgres } from '@outlay/testing'
import { afterAll, expect, it } from 'vitest'
import { migrateHost } from './host.ts'
import { openStageHost, seedClient, setStage, settleAll, startService } from './stage.ts'

const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

it('the service and a host pay out on PostgreSQL 15, both from their first migration on', async () => {
  const postgres = running.use(await startPostgres({ provider: 'embedded', durable: false, version: 15 }))
  expect(postgres.version).toMatch(/^15\./)
  const hostUrl = await postgres.createDatabase()
  await migrateHost(hostUrl)
  const sandbox = running.use(await startService(await postgres.createDatabase()))
  const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
  const host = openStageHost(stage, hostUrl, sandbox.url)
  running.defer(() => host.close())
  await host.engine.start()

  const one = await host.transaction((tx) => host.engine.transfers.enqueue(tx, stage.payout()))
  const many = await host.transaction((tx) =>
    host.engine.transfers.enqueueMany(tx, [stage.payout({ idempotencyKey: 'two' }), stage.payout()]),
  )
  const { host: stored, service, effects } = await settleAll(stage, host)

  expect(stored.map(({ status }) => status)).toEqual(['complete', 'complete', 'complete'])
  expect(service.map(({ status }) => status)).toEqual(['complete', 'complete', 'complete'])
  expect(effects.map(({ transfer_id }) => transfer_id)).toEqual([one, ...many].map(({ id }) => id).sort())
  expect(await stage.balance()).toBe('999962.50')
})
