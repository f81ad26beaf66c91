import { randomBytes } from 'node:crypto'
import { createEngine } from '@outlay/core'
import { addresses, drain, memoryGateway, recordingTelemetry } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimReady } from '../../test/limit-claims.ts'
import { samplePayout } from '../../test/outbox.ts'
import { jobTable, queueSchema } from '../../test/queue.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'
import { inspect } from '../inspection/inspection.ts'
import { shards } from '../shards/shards.ts'
import { rolesSql } from './roles.ts'

// Roles belong to the server, which other tests share.
const suffix = randomBytes(6).toString('hex')
const parts = ['enqueue', 'worker', 'migrator', 'reader'] as const
type Part = (typeof parts)[number]
const nameOf = (part: Part) => `${part}-${suffix}`
const roles = {
  enqueue: nameOf('enqueue'),
  worker: nameOf('worker'),
  migrator: nameOf('migrator'),
  reader: nameOf('reader'),
}

describe('the roles', async () => {
  const database = await testDatabase()
  const admin = new pg.Pool({ connectionString: database.url, max: 2 })
  const pools = new Map<Part, pg.Pool>()
  const as = (part: Part) => pools.get(part) as pg.Pool
  const gateway = memoryGateway()
  const engineOf = (part: Part) => createEngine({ backend: postgres({ driver: pgDriver(as(part)) }), gateway })
  const commit = <T>(part: Part, work: (tx: pg.PoolClient) => Promise<T>) => pgDriver(as(part)).transaction(work)

  beforeAll(async () => {
    await admin.query(rolesSql({ roles }))
    for (const part of parts) {
      const password = randomBytes(12).toString('hex')
      await admin.query(`create role "login-${nameOf(part)}" login password '${password}' in role "${nameOf(part)}"`)
      await admin.query(`alter role "login-${nameOf(part)}" set role = "${nameOf(part)}"`)
      const url = Object.assign(new URL(database.url), { username: `login-${nameOf(part)}`, password })
      pools.set(part, new pg.Pool({ connectionString: url.toString(), max: 12 }))
    }
    await engineOf('migrator').migrate()
    await admin.query(rolesSql({ roles }))
  })
  afterAll(async () => {
    await Promise.all([...pools.values()].map((pool) => pool.end()))
    for (const part of parts) {
      await admin.query(`drop owned by "${nameOf(part)}" cascade`)
      await admin.query(`drop role "login-${nameOf(part)}", "${nameOf(part)}"`)
    }
    await admin.end()
  })

  it.each(['enqueue', 'reader'] as const)(
    'name the one that runs workers when an engine starts as %s',
    async (part) => {
      const starting = engineOf(part).start()
      await expect(starting).rejects.toThrow(
        `The database role "${nameOf(part)}" may not run workers: it may not change the transfers in the schema "outlay". Start the engine with a login of the role "${nameOf('worker')}"`,
      )
    },
  )

  it('start an engine as the worker and as the owner of the schema', async () => {
    for (const part of ['worker', 'migrator'] as const) {
      const engine = engineOf(part)
      await engine.start()
      await engine.stop()
    }
  })

  it('let a web process create a batch, fill it in any isolation, close it and find what is in it', async () => {
    const engine = engineOf('enqueue')
    const { id } = await commit('enqueue', (tx) => engine.batches.create(tx, { key: 'roles' }))
    await commit('enqueue', async (tx) => {
      await tx.query('set transaction isolation level repeatable read')
      await engine.transfers.enqueue(tx, samplePayout('acme', { batchId: id, metadata: { order: 'roles' } }))
      await engine.batches.close(tx, id)
    })
    expect((await engine.batches.get(id))?.counts.total).toBe(1)
    expect((await engine.transfers.find({ metadata: { order: 'roles' } })).transfers).toMatchObject([{ batchId: id }])
    expect((await engineOf('reader').transfers.find({ batchId: id })).transfers).toHaveLength(1)
    const canceled = await commit('worker', (tx) => engineOf('worker').batches.cancel(tx, id))
    expect(canceled).toEqual({ canceled: 1, unended: 0 })
  })

  /** Expects a statement to be refused for lack of a privilege. */
  const forbid = async (part: Part, text: string) => {
    await expect(as(part).query(text), `${part}: ${text}`).rejects.toMatchObject({ code: '42501' })
  }
  const changes = [
    'create table outlay.more (id integer)',
    'create function outlay.more() returns integer language sql as $$ select 1 $$',
    'alter table outlay.transfer add column more text',
    'drop table outlay.event',
    'truncate outlay.delivery',
    'create schema more',
    `update outlay.migration set checksum = ''`,
  ]

  it('let everybody who reads migrate where there is nothing to do', async () => {
    for (const part of ['worker', 'reader', 'migrator'] as const) await engineOf(part).migrate()
    const stale = `begin; set local outlay.migrating = 'yes'; update outlay.migration set checksum = 'older' where name = 'views/transfers'; commit`
    await admin.query(stale)
    await expect(engineOf('worker').migrate()).rejects.toMatchObject({ code: '42501' })
    await engineOf('migrator').migrate()
  })

  it('let the one that enqueues do that and read transfers, and no more', async () => {
    const engine = engineOf('enqueue')
    const request = samplePayout('acme', { idempotencyKey: 'INV-1' })
    const [transfer, again] = await commit('enqueue', async (tx) => [
      await engine.transfers.enqueue(tx, request),
      await engine.transfers.enqueue(tx, request),
    ])
    expect(again).toMatchObject({ id: transfer?.id, reused: true })
    const many = Array.from({ length: 3 }, (_, n) => samplePayout('acme', { idempotencyKey: `many-${n}` }))
    expect(await commit('enqueue', (tx) => engine.transfers.enqueueMany(tx, many))).toHaveLength(3)
    expect(await engine.transfers.getByKey('acme', 'INV-1')).toMatchObject({ id: transfer?.id })
    await expect(commit('enqueue', (tx) => engine.transfers.cancel(tx, transfer?.id ?? ''))).rejects.toMatchObject({
      code: '42501',
    })
    await expect(engine.start()).rejects.toThrow()
    for (const text of [
      ...changes,
      'select * from outlay.event',
      'select * from outlay.attempt',
      'select * from outlay.archive',
      'select * from outlay.delivery',
      'select * from outlay.unauthorized_account',
      `select data from ${jobTable}`,
      'select * from outlay.stuck_transfers',
      `update outlay.transfer set status = 'complete'`,
      'delete from outlay.transfer',
      'delete from outlay.event',
      `insert into ${jobTable} (name) values ('submit')`,
      'select * from outlay.outbox',
      'delete from outlay.outbox',
      'select * from outlay.account',
      `delete from ${jobTable}`,
      `insert into outlay.stop (scope) values ('all')`,
      'delete from outlay.stop',
      'update outlay.known_database set fenced_since = null',
      `select outlay.claim('{}', '{}', 'me', null)`,
      `select outlay.archive_history('', 'Z', 0, 1, false)`,
      `select ${queueSchema}.create_queue('mine', '{}')`,
    ]) {
      await forbid('enqueue', text)
    }
  })

  it('let the one that enqueues do that on its node, and name none', async () => {
    const options = { route: () => 'east', engine: { gateway } }
    const nodeAs = (part: Part) => shards({ ...options, nodes: { east: { driver: pgDriver(as(part)) } } })
    const [web, worker] = [nodeAs('enqueue'), nodeAs('worker')]
    const enqueue = () => web.transaction('acme', (tx) => web.transfers.enqueue(tx, samplePayout('acme')))
    await expect(enqueue()).rejects.toMatchObject({ code: 'wrong_node' })
    await worker.start()
    await worker.stop()
    expect(await enqueue()).toMatchObject({ stage: 'queued' })
    await forbid('enqueue', `update outlay.shard_node set name = 'west'`)
    await forbid('enqueue', 'delete from outlay.departed_account')
  })

  it('let the one that enqueues give counterparties whole and keep the trace it does that in', async () => {
    const telemetry = recordingTelemetry()
    const engine = createEngine({ backend: postgres({ driver: pgDriver(as('enqueue')) }), gateway, telemetry })
    const address = { name: 'Grace', address: addresses.evm[1], transferTypes: ['base'] }
    const destination = { address, valueType: 'USDC', transferType: 'base' }
    const { id } = await commit('enqueue', (tx) =>
      engine.transfers.enqueue(tx, samplePayout('acme', { amount: { value: '12.50', currency: 'USDC' }, destination })),
    )
    const many = await commit('enqueue', (tx) =>
      engine.transfers.enqueueMany(tx, [samplePayout('acme'), samplePayout('acme')]),
    )
    const kept = await as('reader').query('select transfer_id from outlay.counterparty_details')
    expect(kept.rows).toEqual([{ transfer_id: id }])
    const contexts = await as('reader').query('select transfer_id, traceparent from outlay.trace_context')
    const [one, batch] = telemetry.spans.map(({ traceparent }) => traceparent)
    expect(Object.fromEntries(contexts.rows.map((row) => [row.transfer_id, row.traceparent]))).toEqual({
      [id]: one,
      ...Object.fromEntries(many.map((transfer) => [transfer.id, batch])),
    })
    for (const table of ['counterparty_details', 'trace_context']) {
      await forbid('enqueue', `select * from outlay.${table}`)
      await forbid('enqueue', `delete from outlay.${table}`)
    }
  })

  it('let the one that works send, deliver and archive, and change no schema and delete no transfer', async () => {
    const engine = engineOf('worker')
    const received: string[] = []
    engine.subscribe('books', ['transfer.completed'], async (event) => void received.push(event.transferId))
    await engine.start()
    const { id } = await commit('enqueue', (tx) => engineOf('enqueue').transfers.enqueue(tx, samplePayout('acme')))
    await drain(engine)
    await engine.stop()
    expect(received).toContain(id)
    const operate = engineOf('worker')
    await commit('worker', async (tx) => {
      const transfer = await operate.transfers.enqueue(tx, samplePayout('acme'))
      await operate.transfers.cancel(tx, transfer.id)
      expect(await operate.accounts.pause(tx, 'acme')).toBe(true)
      expect(await operate.accounts.resume(tx, 'acme')).toBe(true)
      expect(await operate.transfers.observe(tx, 'acme', [{ remoteId: 'r', status: 'complete', failure: null }])).toBe(
        0,
      )
    })
    await as('worker').query(
      `update outlay.transfer set created_at = now() - interval '2 hours', updated_at = now() - interval '2 hours'`,
    )
    expect((await operate.archive({ olderThanMs: 0 })).archived).toBeGreaterThan(3)
    for (const text of [...changes, 'delete from outlay.transfer']) await forbid('worker', text)
  })

  it('let the one that enqueues have transfers held, and nobody write the audit by hand', async () => {
    const [web, operator] = [engineOf('enqueue'), engineOf('worker')]
    const note = { actor: 'petra', reason: 'decided' }
    const policies = [
      { name: 'all', approvals: [{}] },
      { name: 'payee', when: { counterparties: ['payee-1'] }, refuse: 'not that one' },
    ]
    await commit('worker', (tx) => operator.policies.set(tx, policies, note))
    // What is given in full is compared with what the engine has registered, which the role does not read.
    const address = { name: 'Grace', address: addresses.evm[1], transferTypes: ['base'] }
    const destination = { address, valueType: 'USDC', transferType: 'base' }
    const payGrace = samplePayout('acme', { amount: { value: '1', currency: 'USDC' }, destination })
    await expect(commit('enqueue', (tx) => web.transfers.enqueue(tx, payGrace))).rejects.toMatchObject({
      code: 'policy_refused',
    })
    await forbid('enqueue', 'select from outlay.counterparty')
    const request = () => samplePayout('acme', { createdBy: 'carl', metadata: { order: '7' } })
    const { id } = await commit('enqueue', (tx) => web.transfers.enqueue(tx, request()))
    const many = await commit('enqueue', (tx) => web.transfers.enqueueMany(tx, [request(), request()]))
    expect(many.map(({ stage }) => stage)).toEqual(['held', 'held'])
    expect(await web.transfers.get(id)).toMatchObject({ stage: 'held', createdBy: 'carl' })
    await commit('worker', (tx) => operator.transfers.approve(tx, id, { actor: 'anna' }))
    expect(await operator.audit.list({ transferId: id })).toMatchObject([
      { command: 'transfers.approve', actor: 'anna', login: `login-${nameOf('worker')}` },
    ])
    expect(await engineOf('reader').audit.list({ transferId: id })).toHaveLength(1)
    const byHand = `insert into outlay.audit (command, login) values ('transfers.approve', 'somebody')`
    for (const text of [
      byHand,
      `update outlay.audit set actor = 'x'`,
      'delete from outlay.audit',
      'truncate outlay.audit',
    ])
      for (const part of ['worker', 'enqueue', 'reader'] as const) await forbid(part, text)
    for (const part of ['enqueue', 'reader'] as const)
      await forbid(part, `select outlay.record_audit('x', 'x', 'x', null, null, null)`)
    const approval = `insert into outlay.approval (transfer_id, actor, roles) values ('${id}', 'x', '{}')`
    for (const text of [
      `update outlay.policy_version set actor = 'x'`,
      `insert into outlay.policy_version (version, tag, policies, actor, reason) values (9, 'x', '[]', 'x', 'x')`,
      'delete from outlay.policy_state',
      approval,
      `update outlay.approval set actor = 'x'`,
      'delete from outlay.approval',
    ])
      for (const part of ['worker', 'enqueue', 'reader'] as const) await forbid(part, text)
    for (const text of [
      `update outlay.transfer_creator set created_by = 'x'`,
      'delete from outlay.transfer_creator',
      `update outlay.hold set requirement = null`,
    ])
      for (const part of ['worker', 'enqueue', 'reader'] as const) await forbid(part, text)
    expect((await admin.query('select distinct login from outlay.approval')).rows).toEqual([
      { login: `login-${nameOf('worker')}` },
    ])
    // An operator of the caller's would run with the rights of the owner.
    const borrowing = await as('reader').query(
      `select proname from pg_proc where pronamespace = 'outlay'::regnamespace and prosecdef
       and not coalesce('search_path=pg_catalog, pg_temp' = any (proconfig), false)`,
    )
    expect(borrowing.rows).toEqual([])
    for (const part of ['enqueue', 'reader'] as const) {
      await forbid(part, `select outlay.set_policies(9, '[]', 'x', 'x')`)
      await forbid(part, `select outlay.add_approval('${id}', 'x', '{}', null)`)
    }
    await forbid('enqueue', `delete from outlay.hold`)
    await commit('worker', (tx) => operator.policies.set(tx, [], { ...note, clear: true }))
    for (const one of many) await commit('worker', (tx) => operator.transfers.cancel(tx, one.id, note))
  })

  it('let nobody set policies without an audit entry, or of a version behind which there is none', async () => {
    const operator = engineOf('worker')
    const { version } = (await operator.policies.get()) ?? { version: 0 }
    const byHand = (given: number) =>
      as('worker').query(`select outlay.set_policies($1, '[]', 'petra', 'by hand')`, [given])
    for (const given of [version, version + 2, 2_147_483_647])
      await expect(byHand(given)).rejects.toThrow(
        `The policies are of version ${version}, so the next one is ${version + 1}`,
      )
    await byHand(version + 1)
    const set = await commit('worker', (tx) =>
      operator.policies.set(tx, [], { actor: 'petra', reason: 'again', clear: true }),
    )
    expect(set).toEqual({ version: version + 2 })
    const login = `login-${nameOf('worker')}`
    expect(await operator.audit.list({ command: 'policies.set', limit: 2 })).toMatchObject([
      { actor: 'petra', reason: 'again', login, after: { version: version + 2 } },
      { actor: 'petra', reason: 'by hand', login, before: { version }, after: { version: version + 1, policies: [] } },
    ])
  })

  it('let the one that works count and hold by limits on sums, and nobody rewrite what they were', async () => {
    const [web, operator] = [engineOf('enqueue'), engineOf('worker')]
    const note = { actor: 'petra', reason: 'decided' }
    const limit = { name: 'tight', most: { USD: '1' }, span: 'day', zone: 'UTC', accounts: ['limited'] } as const
    await commit('worker', (tx) => operator.limits.set(tx, [limit], note))
    const { id } = await commit('enqueue', (tx) => web.transfers.enqueue(tx, samplePayout('limited')))
    await claimReady(as('worker'))
    expect(await operator.transfers.get(id)).toMatchObject({ stage: 'held', reason: 'limit' })
    expect(await engineOf('reader').limits.uses()).toMatchObject([{ limit: 'tight', held: 1 }])
    await commit('worker', (tx) => operator.transfers.release(tx, id, { ...note, hold: 'limit', policy: 'tight' }))
    expect(await claimReady(as('worker'))).toContain(id)
    for (const part of ['worker', 'enqueue', 'reader'] as const)
      await forbid(part, `update outlay.limit_version set actor = 'x'`)
    for (const part of ['enqueue', 'reader'] as const) await forbid(part, 'update outlay.limit_use set used = 0')
    await commit('worker', (tx) => operator.limits.set(tx, [], note))
  })

  it('let the one that reads see what operators see, and change nothing', async () => {
    const inspection = inspect({ driver: pgDriver(as('reader')) })
    const [transfer] = await inspection.transfers({ limit: 1 })
    expect(await inspection.evidence(transfer?.id ?? '')).toMatchObject({ summary: { status: expect.any(String) } })
    await inspection.stuck()
    await inspection.health()
    expect((await inspection.schema()).migrations.every((migration) => migration.state === 'applied')).toBe(true)
    await postgres({ driver: pgDriver(as('reader')) }).check()
    const insert = `insert into outlay.account (account_id) values ('mine')`
    for (const text of [...changes, insert, `delete from ${jobTable}`, `select outlay.claim('{}', '{}', 'me', null)`]) {
      await forbid('reader', text)
    }
  })

  it('let the one that migrates do that again, and what it makes is there for the others', async () => {
    await engineOf('migrator').migrate()
    await as('migrator').query('create table outlay.later (id integer generated always as identity)')
    await as('worker').query('insert into outlay.later default values')
    expect((await as('reader').query('select * from outlay.later')).rows).toHaveLength(1)
    await forbid('enqueue', 'select * from outlay.later')
    await as('migrator').query('drop table outlay.later')
  })

  it('are given names that need no quotes to be safe', () => {
    expect(() => rolesSql({ roles: { worker: 'x"; drop table y' } })).toThrow('role name')
    expect(() => rolesSql({ roles: { enqueue: 'app', worker: 'app' } })).toThrow('a role of its own')
    expect(rolesSql({ schema: 'payments' })).toContain(
      'grant select, insert on "payments".transfer to "outlay_enqueue"',
    )
  })
})
