import { inspect, pgDriver } from '@outlay/adapters-pg'
import type { StoredTransfer } from '@outlay/core'
import { startSandbox } from '@outlay/service/sandbox'
import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { describe, expect, it } from 'vitest'
import { type Cluster, startCluster, startStandby } from './cluster.ts'
import { type Host, migrateHost } from './host.ts'
import { openStageHost, type Stage, seedClient, setStage, settleAll, startService } from './stage.ts'

/** Enqueues payouts with the given keys and waits until the service has each. */
async function pay(host: Host, stage: Stage, keys: readonly string[]): Promise<readonly StoredTransfer[]> {
  const payouts = keys.map((idempotencyKey) => stage.payout({ idempotencyKey }))
  const transfers = await host.transaction((tx) => host.engine.transfers.enqueueMany(tx, payouts))
  return Promise.all(
    transfers.map(({ id }) =>
      waitUntil(
        async () => {
          const found = await host.engine.transfers.get(id)
          return found !== undefined && found.remoteId !== null ? found : undefined
        },
        { timeoutMs: 60_000, describe: `${id} to be submitted` },
      ),
    ),
  )
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
const amountLeft = (count: number) => (1_000_000 - 12.5 * count).toFixed(2)

/** Makes a database, lets `prepare` fill it, and gives it a standby. */
async function startPair(prepare: (url: string) => Promise<void> = async () => undefined) {
  const primary = await startCluster()
  await primary.postgres.createDatabase('site')
  await prepare(primary.urlOf('site'))
  return { primary, standby: await startStandby(primary) }
}

/** Kills the primary; commits that have not reached the standby are lost. */
async function failOver(primary: Cluster, standby: { promote(): Promise<void> }): Promise<void> {
  await primary.kill()
  await standby.promote()
}

describe('a fail-over to a standby that lacks the last commits', { timeout: 300_000 }, async () => {
  const shared = await testDatabase({ key: 'host', prepare: migrateHost })
  const services = await testDatabase({ role: 'ordinary' })

  it("of the host's database: keys that the host enqueues again pay nothing twice, and the others are found and named", async () => {
    const { primary, standby } = await startPair(migrateHost)
    await using _primary = primary
    await using _standby = standby
    await using sandbox = await startService(services.url)
    const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
    const before = openStageHost(stage, primary.urlOf('site'), sandbox.url)
    await before.engine.start()
    const kept = await pay(before, stage, names('kept', 3))
    await settleAll(stage, before)
    await standby.catchUp()
    standby.cut()
    const lost = await pay(before, stage, names('lost', 5))
    await failOver(primary, standby)
    await before.close()

    const after = openStageHost(stage, standby.urlOf('site'), sandbox.url)
    for (const { id } of lost) expect(await after.engine.transfers.get(id)).toBeUndefined()
    for (const { id } of kept) expect(await after.engine.transfers.get(id)).toMatchObject({ status: 'complete' })
    await after.engine.start()
    // The host enqueues again what it knows from elsewhere, under the same keys: the service answers as before.
    const again = await pay(after, stage, names('lost', 3))
    expect(again.map(({ remoteId }) => remoteId)).toEqual(lost.slice(0, 3).map(({ remoteId }) => remoteId))
    // Only the service has the others. A host that watches the account gets each of them, by its id there.
    await after.transaction((tx) => after.engine.accounts.watch(tx, stage.accountId, { since: kept[0]?.createdAt }))
    const adopted = await waitUntil(
      async () => {
        const { rows } = await after.pool.query<{ remoteId: string }>(
          `select remote_id as "remoteId" from outlay.transfer where idempotency_key like 'adopted %' order by remote_id`,
        )
        return rows.length === 2 ? rows.map(({ remoteId }) => remoteId) : undefined
      },
      { timeoutMs: 60_000, describe: 'the lost payouts to be adopted' },
    )
    expect(adopted).toEqual(
      lost
        .slice(3)
        .map(({ remoteId }) => remoteId)
        .sort(),
    )
    const { service, host } = await settleAll(stage, after)
    expect(service).toHaveLength(8)
    expect(host.map(({ remoteId }) => remoteId).sort()).toEqual(service.map(({ id }) => id).sort())
    expect(await stage.balance()).toBe(amountLeft(8))
    await after.close()
    await stage.client.close()
  })

  it("of the service's database: what it does not know any more is named, and goes out again by a person, with its key", async () => {
    const { primary, standby } = await startPair()
    await using _primary = primary
    await using _standby = standby
    let sandbox = await startSandbox({ databaseUrl: primary.urlOf('site') })
    const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
    const host = openStageHost(stage, shared.url, sandbox.url)
    const news: string[] = []
    host.engine.subscribe('news', ['transfer.missing'], async ({ transferId }) => void news.push(transferId))
    await host.engine.start()
    await pay(host, stage, names('kept', 3))
    await standby.catchUp()
    standby.cut()
    const lost = await pay(host, stage, names('lost', 4))
    const port = Number(new URL(sandbox.url).port)
    await failOver(primary, standby)
    await sandbox.stop()
    // Somebody else may have the port for a moment.
    sandbox = await waitUntil(() =>
      startSandbox({ databaseUrl: standby.urlOf('site'), port }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EADDRINUSE') throw error
        return undefined
      }),
    )
    await using _sandbox = sandbox

    const inspection = inspect({ driver: pgDriver(host.pool) })
    await host.pool.query(`update outlay.transfer set next_poll_at = now() where stage = 'submitted'`)
    const marked = () =>
      host.pool.query<{ id: string }>(`select id from outlay.transfer where unknown_since is not null order by id`)
    await waitUntil(async () => (await marked()).rows.length === lost.length, { timeoutMs: 60_000 })
    expect((await marked()).rows.map(({ id }) => id)).toEqual(lost.map(({ id }) => id).sort())
    expect((await inspection.health()).transfers.missing.count).toBe(0)
    // After an hour of polls.
    await host.pool.query(`update outlay.transfer
      set unknown_since = unknown_since - interval '1 hour', next_poll_at = now() where unknown_since is not null`)
    await waitUntil(() => news.length === lost.length, { timeoutMs: 60_000, describe: () => `${news} to be reported` })
    const { missing } = (await inspection.health()).transfers
    expect({ ...missing, samples: missing.samples.toSorted() }).toMatchObject({
      count: lost.length,
      samples: lost.map(({ id }) => id).sort(),
    })
    for (const { id } of lost) {
      expect(await host.engine.transfers.get(id)).toMatchObject({ stage: 'submitted', reason: 'missing_at_service' })
      expect((await inspection.stuck()).map((one) => one.id)).toContain(id)
    }
    // Nothing was sent: the service has what the standby had.
    const listed = async () => (await stage.client.transfers.list(stage.accountId)).items.length
    expect(await listed()).toBe(3)

    for (const { id } of lost) {
      expect(await host.transaction((tx) => host.engine.transfers.release(tx, id))).toBe(true)
      await expect(host.transaction((tx) => host.engine.transfers.cancel(tx, id))).rejects.toThrow()
    }
    const { service, effects } = await settleAll(stage, host)
    expect(service).toHaveLength(7)
    expect(effects).toHaveLength(7)
    expect(await stage.balance()).toBe(amountLeft(7))
    expect((await inspection.health()).transfers.missing.count).toBe(0)
    await host.close()
    await stage.client.close()
  })
})
