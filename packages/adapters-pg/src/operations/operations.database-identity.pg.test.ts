import { createEngine } from '@outlay/core'
import {
  drain,
  memoryGateway,
  openPostgresClusters,
  type Postgres,
  type PostgresClusters,
  recordingLogger,
  restoring,
  standbyOf,
  waitForPrimary,
  waitUntil,
} from '@outlay/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

/** The same database on another server, or another one of the same. */
const at = (server: Postgres, name: string) => server.url.replace(/\/postgres$/, `/${name}`)

describe('the database that transfers are sent from', () => {
  let clusters: PostgresClusters
  let primary: Postgres
  beforeAll(async () => {
    clusters = await openPostgresClusters()
    primary = await clusters.start('primary')
    await migrateOutbox(await primary.createDatabase('app'))
  })
  afterAll(() => clusters[Symbol.asyncDispose]())

  let services = 0

  /** A host of the database at `url`, with a service of its own. */
  function open(url: string, deployment?: string) {
    const pool = new pg.Pool({ connectionString: url })
    // A server that is stopped ends connections that are about to be closed.
    pool.on('error', () => {})
    const driver = pgDriver(pool)
    const gateway = memoryGateway({ idPrefix: `remote-${++services}` })
    const logger = recordingLogger()
    const engine = createEngine({ backend: postgres({ driver, deployment, logger }), gateway, runtime: { logger } })
    return {
      ...{ pool, driver, gateway, engine, logger },
      enqueue: () => driver.transaction((tx) => engine.transfers.enqueue(tx, samplePayout('acme'))),
      logged: () => logger.entries.map(({ message }) => message).join('\n'),
      async [Symbol.asyncDispose]() {
        await engine.stop()
        await pool.end()
      },
    }
  }
  type Host = ReturnType<typeof open>

  /** Pays once, so that workers have been here, and leaves another transfer in the queue. */
  async function workOn(url: string, deployment?: string) {
    await using host = open(url, deployment)
    await host.engine.start()
    await host.enqueue()
    await drain(host.engine)
    await host.engine.stop()
    return (await host.enqueue()).id
  }

  /** Starts an engine on a copy: reads and enqueues work, and nothing leaves until it is adopted. */
  async function expectNothingSent(host: Host, why: object, id: string) {
    await host.engine.start()
    const fresh = await host.enqueue()
    expect(await host.engine.transfers.get(id)).toMatchObject({ stage: 'queued', attempt: 0 })
    expect(await host.engine.sending()).toMatchObject(why)
    expect(host.logged()).toMatch(/outlay (adopt-database|reconcile)/)
    const work = host.engine.backlog()
    expect((await work).queued).toBe(2)
    expect(host.gateway.submissions).toEqual([])
    return [id, fresh.id]
  }

  it('is not a copy by template, until a person adopts that', async () => {
    const id = await workOn(at(primary, 'app'))
    await primary.createDatabase('staging', { template: 'app' })
    await using staging = open(at(primary, 'staging'))
    const ids = await expectNothingSent(staging, { unfamiliar: 'other_database', fence: null }, id)
    await staging.driver.transaction((tx) => staging.engine.adoptDatabase(tx, { moved: true, actor: 'ann' }))
    await drain(staging.engine)
    expect(staging.gateway.submissions.map(({ transferId }) => transferId)).toEqual(ids)
    await using original = open(at(primary, 'app'))
    await original.engine.start()
    await waitUntil(() => original.gateway.submissions.length === 1)
  })

  it('is not what a dump was restored to on another server, which is fenced once it is adopted', async () => {
    const other = await clusters.start('other')
    await migrateOutbox(await other.createDatabase('app'))
    const id = await workOn(at(primary, 'app'))
    await using source = open(at(primary, 'app'))
    await using target = open(at(other, 'app'))
    for (const table of ['outlay.known_database', 'outlay.transfer']) {
      const { rows } = await source.pool.query(
        `select to_jsonb(t) as row from ${table} t where to_jsonb(t) ->> 'id' is null or t::text like '%' || $1 || '%'`,
        [id],
      )
      for (const { row } of rows) {
        await target.pool.query(`insert into ${table} select * from jsonb_populate_record(null::${table}, $1)`, [row])
      }
    }
    await expectNothingSent(target, { unfamiliar: 'other_server' }, id)
    await target.driver.transaction((tx) => target.engine.adoptDatabase(tx, { reason: 'the old server is lost' }))
    expect(await target.engine.sending()).toMatchObject({ unfamiliar: null, fence: { reason: 'adopted' } })
    expect(target.gateway.submissions).toEqual([])
  })

  it('is a standby that was promoted: sending goes on', async () => {
    await clusters.backUp(primary, 'primary', 'standby')
    await clusters.standByNext('standby')
    const standby = await clusters.start('standby', standbyOf(primary))
    const id = await workOn(at(primary, 'app'))
    await using before = open(at(primary, 'app'))
    await before.engine.start()
    await drain(before.engine)
    await before.engine.stop()
    const last = await before.enqueue()
    await using host = open(at(standby, 'app'))
    const isSeen = async () => {
      const { rows } = await host.pool.query(
        `select 1 from outlay.transfer t, outlay.known_database h where t.id = $1 and h.seen_at > pg_postmaster_start_time()`,
        [last.id],
      )
      return rows.length > 0
    }
    // The engine wrote that it saw the database while the standby streamed.
    await using seeing = open(at(primary, 'app'))
    await seeing.driver.transaction((tx) => seeing.engine.stops.add(tx, { scope: 'all' }))
    await seeing.engine.start()
    await waitUntil(isSeen, { timeoutMs: 60_000 })
    await seeing.driver.transaction((tx) => seeing.engine.stops.end(tx, { scope: 'all' }))
    await seeing.engine.stop()
    const sent = seeing.gateway.submissions.length
    await waitUntil(async () => (await host.pool.query('select 1 from outlay.stop')).rows.length === 0)
    await host.pool.query('select pg_promote()')
    await waitForPrimary(standby.url)
    await host.engine.start()
    await host.enqueue()
    await drain(host.engine)
    expect(host.gateway.submissions.length + sent).toBe(2)
    expect(await host.engine.sending()).toMatchObject({ unfamiliar: null, fence: null, knownDatabase: { timeline: 2 } })
    expect(host.logged()).toContain('A standby has become the primary')
    expect(await host.engine.transfers.get(id)).toMatchObject({ stage: 'settled' })
    await standby.stop()
  })

  it.each([
    ['', '0 hours'],
    [', also when the clock was ahead for a while before', '3 hours'],
  ])('is fenced after a restore, until a reconciliation%s', async (_, ahead) => {
    const name = `restored-${ahead.at(0)}`
    const id = await workOn(at(primary, 'app'))
    await clusters.backUp(primary, 'primary', name)
    await clusters.restoreNext(name)
    const restored = await clusters.start(name, restoring)
    await waitForPrimary(restored.url)
    await using host = open(at(restored, 'app'))
    await host.pool.query('update outlay.known_database set seen_at = seen_at + $1::interval', [ahead])
    if (ahead !== '0 hours') expect(await host.engine.sending()).toMatchObject({ fence: { reason: 'restored' } })
    await expectNothingSent(
      host,
      { unfamiliar: null, fence: { reason: 'restored' }, knownDatabase: { timeline: 2 } },
      id,
    )
    // The fence stays when everything is started once more.
    await host.engine.stop()
    await host.engine.start()
    expect(host.gateway.submissions).toEqual([])
    await restored.stop()
  })

  it('is not the copy of its disk for an engine with the name of another deployment', async () => {
    const id = await workOn(at(primary, 'app'), 'production')
    await clusters.backUp(primary, 'primary', 'snapshot')
    const snapshot = await clusters.start('snapshot')
    await using staging = open(at(snapshot, 'app'), 'staging')
    await staging.engine.start()
    await staging.enqueue()
    expect(staging.logged()).toContain('outlay adopt-database')
    await using unnamed = open(at(snapshot, 'app'))
    await unnamed.engine.start()
    expect(unnamed.logged()).toContain('outlay adopt-database')
    expect(unnamed.logged()).toMatch(
      /belongs to the deployment "[^"]+", and this engine has no name of a deployment.* the option deployment: '/,
    )
    expect([staging, unnamed].flatMap(({ gateway }) => gateway.submissions)).toEqual([])
    const adopt = { deployment: 'staging', moved: true }
    await staging.driver.transaction((tx) => staging.engine.adoptDatabase(tx, adopt))
    await drain(staging.engine)
    expect(staging.gateway.submissions.map(({ transferId }) => transferId)).toContain(id)
    expect(unnamed.gateway.submissions).toEqual([])
    await snapshot.stop()
  })

  it('without the name of a deployment is not given one by a process while others without one are at work', async () => {
    const url = await primary.createDatabase('unnamed')
    await using unnamed = open(url)
    await unnamed.engine.migrate()
    await unnamed.engine.start()
    await using mistyped = open(url, 'prodcution')
    await mistyped.engine.start()
    expect(mistyped.logged()).toContain('Workers without the name of a deployment are at work here')
    for (const _ of [1, 2]) {
      await unnamed.enqueue()
      await drain(unnamed.engine)
    }
    expect((await unnamed.engine.sending()).knownDatabase?.deployment).toBe(null)
    expect(mistyped.gateway.submissions).toEqual([])
    expect(unnamed.logged()).not.toContain('outlay adopt-database')
    // When the last of them has stopped for a while, an engine with a name records it.
    await unnamed.engine.stop()
    await waitUntil(async () => (await mistyped.engine.sending()).knownDatabase?.deployment === 'prodcution')
    await mistyped.enqueue()
    await drain(mistyped.engine)
    expect(mistyped.gateway.submissions).toHaveLength(1)
  })

  it('is fenced when it forgets what a worker saw of it: a snapshot was put back under it', async () => {
    await using host = open(await primary.createDatabase('rewound'))
    await host.engine.migrate()
    await host.engine.start()
    // Setting a clock right that was an hour fast does not fence.
    await host.pool.query(`update outlay.known_database set seen_at = now() + interval '1 hour'`)
    await host.enqueue()
    await drain(host.engine)
    await host.pool.query(`update outlay.known_database set seen_at = now() - interval '1 hour'`)
    await waitUntil(async () => (await host.engine.sending()).fence?.reason === 'rewound')
    await host.enqueue()
    expect(host.gateway.submissions).toHaveLength(1)
    expect(host.logged()).toContain('outlay reconcile')
  })
})
