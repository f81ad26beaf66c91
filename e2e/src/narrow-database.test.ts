import { randomBytes } from 'node:crypto'
import { pgDriver, postgres, rolesSql } from '@outlay/adapters-pg'
import { findPgBouncer, startFaultProxy, startPgBouncer, startTcpProxy, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import type { Host } from './host.ts'
import { creates } from './scene.ts'
import { testSite } from './site.ts'
import { openStageHost, type Stage, seedClient, setStage, settleAll } from './stage.ts'

const pgBouncer = await findPgBouncer()
if (pgBouncer === undefined) console.warn('Not tested behind PgBouncer: there is none.')

describe('a way to the database of the host', { timeout: 300_000 }, async () => {
  const { hosts, sandbox } = await testSite()
  const openStage = async () => setStage(sandbox.url, await sandbox.seedClient(seedClient))

  /** Enqueues, loses some answers, and asserts that everything is paid once. */
  async function carry(
    stage: Stage,
    host: Host,
    rules: { readonly enqueue?: Host; readonly during?: () => Promise<void> } = {},
  ) {
    const writer = rules.enqueue ?? host
    const keys = Array.from({ length: 40 }, (_, index) => `k-${index}`)
    for (const idempotencyKey of keys) {
      // The commit's answer may be lost; a repetition of the key has one transfer.
      await waitUntil(
        () =>
          writer
            .transaction((tx) => writer.engine.transfers.enqueue(tx, stage.payout({ idempotencyKey })))
            .then(
              () => true,
              () => false,
            ),
        { timeoutMs: 60_000, describe: 'an enqueue' },
      )
      if (idempotencyKey === 'k-10' || idempotencyKey === 'k-25') await rules.during?.()
    }
    const { host: stored, service, effects } = await settleAll(stage, host, 150_000)
    expect(stored).toHaveLength(keys.length)
    expect(service.map(({ id }) => id).sort()).toEqual(stored.map(({ remoteId }) => remoteId).sort())
    expect(effects.map(({ transfer_id }) => transfer_id)).toEqual(stored.map(({ id }) => id))
    expect(Number(await stage.balance())).toBe(1_000_000 - 12.5 * keys.length)
  }

  it('of one connection carries everything', async () => {
    const stage = await openStage()
    await using proxy = await startFaultProxy({ target: sandbox.url })
    proxy.faults.add({ ...creates, times: 5, fault: { kind: 'drop_response' } })
    const host = openStageHost(stage, await hosts.another(), proxy.url, { poolSize: 1, jitter: 0.05 })
    // The listener needs its own connection.
    await host.engine.start({ listen: false, stopTimeoutMs: 60_000 })
    await carry(stage, host)
    await host.close()
    await stage.client.close()
  })

  it.skipIf(pgBouncer === undefined)(
    'through PgBouncer in transaction mode continues after it was cut and restarted',
    async () => {
      const stage = await openStage()
      await using proxy = await startFaultProxy({ target: sandbox.url })
      proxy.faults.add({ ...creates, times: 5, fault: { kind: 'drop_response' } })
      const databaseUrl = await hosts.another()
      const server = new URL(databaseUrl)
      await using behind = await startTcpProxy({ host: server.hostname, port: Number(server.port) })
      server.port = String(behind.port)
      await using bouncer = await startPgBouncer({ url: server.href, poolSize: 3 })
      await using before = await startTcpProxy({ host: '127.0.0.1', port: bouncer.port })
      const through = new URL(bouncer.url)
      through.port = String(before.port)
      const host = openStageHost(stage, through.href, proxy.url, { prepared: false, jitter: 0.05 })
      await host.engine.start({ listen: false })
      const admin = new pg.Client(databaseUrl)
      await admin.connect()
      await carry(stage, host, {
        async during() {
          // Its clients are cut off, then it loses its server, then its sessions are ended.
          before.cut()
          before.heal()
          behind.cut()
          behind.heal()
          await admin.query(
            'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
          )
        },
      })
      await admin.end()
      await host.close()
      await stage.client.close()
    },
  )

  it('with roles that may do no more than they need carries everything', async () => {
    const stage = await openStage()
    const plain = await testUrl()
    const suffix = randomBytes(6).toString('hex')
    const names = { enqueue: `e-${suffix}`, worker: `w-${suffix}`, migrator: `m-${suffix}`, reader: `r-${suffix}` }
    const admin = new pg.Client(plain)
    await admin.connect()
    await admin.query(rolesSql({ roles: names }))
    const login = async (part: 'enqueue' | 'worker' | 'migrator') => {
      const password = randomBytes(12).toString('hex')
      const user = `login-${names[part]}`
      await admin.query(`create role "${user}" login password '${password}' in role "${names[part]}"`)
      await admin.query(`alter role "${user}" set role = "${names[part]}"`)
      return Object.assign(new URL(plain), { username: user, password }).href
    }
    const migrating = new pg.Pool({ connectionString: await login('migrator') })
    await postgres({ driver: pgDriver(migrating) }).migrate()
    await migrating.end()
    await admin.query(rolesSql({ roles: names }))
    await admin.query('create table effect (transfer_id text not null, type text not null)')
    await admin.query(`grant select, insert on effect to "${names.worker}"`)
    const host = openStageHost(stage, await login('worker'), sandbox.url, { jitter: 0.05 })
    const writer = openStageHost(stage, await login('enqueue'), sandbox.url)
    await host.engine.start()
    await carry(stage, host, { enqueue: writer })
    await writer.close()
    await host.close()
    await stage.client.close()
    for (const name of Object.values(names)) await admin.query(`drop owned by "${name}" cascade`)
    for (const part of ['enqueue', 'worker', 'migrator'] as const) await admin.query(`drop role "login-${names[part]}"`)
    for (const name of Object.values(names)) await admin.query(`drop role "${name}"`)
    await admin.end()
  })

  const empty = await testDatabase()
  const testUrl = () => empty.another()
})
