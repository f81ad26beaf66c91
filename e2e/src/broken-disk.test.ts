import { chown, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { recordingLogger, startFaultProxy, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { type Cluster, startCluster } from './cluster.ts'
import { buildFailingSync, mountSmallDisk } from './fault-library.ts'
import { type Host, migrateHost } from './host.ts'
import { creates } from './scene.ts'
import { openStageHost, type Stage, seedClient, setStage, settleAll, startService } from './stage.ts'

const disk = await mountSmallDisk(1)
if (typeof disk !== 'string') await disk[Symbol.asyncDispose]()
if (typeof disk === 'string') console.warn(`Not tested on a full disk: ${disk}.`)
const sync = await buildFailingSync()
if (typeof sync === 'string') console.warn(`Not tested with a failing fsync: ${sync}.`)

const count = 200

/** Requests that an engine has in flight at once by default. */
const slots = 64

describe('a disk of the host that', { timeout: 300_000 }, async () => {
  const services = await testDatabase({ role: 'ordinary' })
  const sandbox = await startService(services.url)
  afterAll(async () => {
    await sandbox.stop()
    if (typeof sync !== 'string') await sync[Symbol.asyncDispose]()
  })

  /** A host whose database is in the cluster, with payouts that wait, and as many answers in flight as there are slots. */
  async function open(cluster: Cluster, database: string) {
    await migrateHost(cluster.urlOf(database))
    const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
    const logger = recordingLogger()
    const proxy = await startFaultProxy({ target: sandbox.url })
    const host = openStageHost(stage, cluster.urlOf(database), proxy.url, { logger, jitter: 0.05 })
    await enqueue(host, stage, 'before', count)
    const answers = proxy.faults.hold({ ...creates, at: 'response' })
    await host.engine.start()
    await answers.waitFor(slots, 60_000)
    const said = (words: RegExp) => logger.entries.some(({ fields }) => words.test(String(fields['error'])))
    return { stage, host, said, answers, [Symbol.asyncDispose]: () => proxy.stop() }
  }
  const enqueue = (host: Host, stage: Stage, prefix: string, length: number) => {
    const payouts = Array.from({ length }, (_, index) => stage.payout({ idempotencyKey: `${prefix}-${index}` }))
    return host.transaction((tx) => host.engine.transfers.enqueueMany(tx, payouts))
  }
  /** Asserts that each committed payout is paid once, and nothing else is. */
  async function prove(host: Host, stage: Stage, promised: number) {
    const { host: stored, service, effects } = await settleAll(stage, host, 200_000)
    expect(stored).toHaveLength(promised)
    expect(service.map(({ id }) => id).sort()).toEqual(stored.map(({ remoteId }) => remoteId).sort())
    expect(effects.map(({ transfer_id }) => transfer_id)).toEqual(stored.map(({ id }) => id))
    expect(Number(await stage.balance())).toBe(1_000_000 - 12.5 * promised)
    await host.close()
    await stage.client.close()
  }
  /** Keys of payouts that the host tried to enqueue while nothing could be written: enqueued or not, never half. */
  const countRows = async (host: Host) =>
    Number((await host.pool.query('select count(*)::integer as count from outlay.transfer')).rows[0].count)

  it.skipIf(typeof disk === 'string').concurrent(
    'has no space for tables: workers continue as soon as there is some',
    async () => {
      const small = await mountSmallDisk(64)
      if (typeof small === 'string') throw new Error(small)
      await using _small = small
      await using cluster = await startCluster()
      const owner = await stat(cluster.dataDir)
      const place = join(small.path, 'tables')
      await mkdir(place)
      await chown(place, owner.uid, owner.gid)
      await cluster.query(`create tablespace small location '${place}'`)
      await cluster.query('create database site tablespace small')
      await using site = await open(cluster, 'site')
      const { host, stage, said } = site
      await small.fill()
      site.answers.release()
      await waitUntil(() => said(/No space left|could not extend/), { timeoutMs: 60_000, describe: 'a full disk' })
      await expect(enqueue(host, stage, 'refused', 1_000)).rejects.toMatchObject({ code: '53100' })
      expect(await countRows(host)).toBe(count)
      await small.free()
      await enqueue(host, stage, 'after', 10)
      await prove(host, stage, count + 10)
      await cluster.query('drop database site with (force)')
      await cluster.query('drop tablespace small')
    },
  )

  it.skipIf(typeof disk === 'string').concurrent(
    'has no space for the log: Postgres ends, and all continues after its restart',
    async () => {
      const small = await mountSmallDisk(320)
      if (typeof small === 'string') throw new Error(small)
      await using _small = small
      const settings = { min_wal_size: '32MB', max_wal_size: '48MB' }
      await using cluster = await startCluster({ dataDir: join(small.path, 'data'), settings })
      await cluster.postgres.createDatabase('site')
      await using site = await open(cluster, 'site')
      const { host, stage } = site
      await small.fill()
      await fillLog(cluster)
      site.answers.release()
      await small.free()
      await cluster.postgres.restart({ mode: 'immediate' })
      await enqueue(host, stage, 'after', 10)
      await prove(host, stage, count + 10)
    },
  )

  it.skipIf(typeof sync === 'string').concurrent(
    'fails to sync: Postgres panics, and all continues after its restart',
    async () => {
      if (typeof sync === 'string') throw new Error(sync)
      await using cluster = await startCluster({ env: sync.env })
      await cluster.postgres.createDatabase('site')
      await using site = await open(cluster, 'site')
      const { host, stage, said } = site
      await sync.fail()
      site.answers.release()
      await waitUntil(() => said(/terminat|recovery|ECONN|shut/i), { timeoutMs: 60_000, describe: 'a panic' })
      await expect(enqueue(host, stage, 'refused', 10)).rejects.toThrow()
      await sync.heal()
      await cluster.postgres.restart({ mode: 'immediate' })
      // The refused commit may have been kept; its keys show it.
      const repeated = await enqueue(host, stage, 'refused', 10)
      expect(await countRows(host)).toBe(count + repeated.length)
      await prove(host, stage, count + 10)
    },
  )
})

/** Writes to the log until the server ends. */
async function fillLog(cluster: Cluster): Promise<void> {
  const client = new pg.Client(cluster.postgres.url)
  client.on('error', () => undefined)
  await client.connect()
  const write = () => client.query(`select pg_logical_emit_message(false, 'fill', repeat('x', 4000000))`)
  await waitUntil(
    () =>
      write().then(
        () => false,
        () => true,
      ),
    { timeoutMs: 100_000, describe: 'the log to be full' },
  )
  await client.end().catch(() => undefined)
}
