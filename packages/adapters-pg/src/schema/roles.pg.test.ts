import { createEngine } from '@outlay/core'
import { addresses, drain, recordingTelemetry } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { samplePayout } from '../../test/outbox.ts'
import { jobTable, queueSchema } from '../../test/queue.ts'
import { type Part, roleHost } from '../../test/role-host.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'
import { inspect } from '../inspection/inspection.ts'
import { shards } from '../shards/shards.ts'
import { rolesSql } from './roles.ts'

describe('the roles', async () => {
  const { admin, as, commit, engineOf, forbid, gateway, nameOf } = await roleHost()

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
      await engine.batches.close(tx, id, { actor: 'petra', reason: 'all are in' })
    })
    expect(await engineOf('reader').audit.list({ command: 'batches.close' })).toMatchObject([
      { actor: 'petra', reason: 'all are in', login: `login-${nameOf('enqueue')}`, after: { batchId: id } },
    ])
    expect((await engine.batches.get(id))?.counts.total).toBe(1)
    expect((await engine.transfers.find({ metadata: { order: 'roles' } })).transfers).toMatchObject([{ batchId: id }])
    expect((await engineOf('reader').transfers.find({ batchId: id })).transfers).toHaveLength(1)
    const canceled = await commit('worker', (tx) => engineOf('worker').batches.cancel(tx, id))
    expect(canceled).toEqual({ canceled: 1, unended: 0 })
  })

  it('let nobody close a batch who may not write that down in the table of closed ones, whoever else the function runs as', async () => {
    const { id } = await commit('enqueue', (tx) => engineOf('enqueue').batches.create(tx))
    const close = `select outlay.close_batch('${id}', 'x', 'x')`
    await forbid('reader', close)
    // The login may do everything; the role that it has taken may not.
    const client = await admin.connect()
    await client.query(`set role "${nameOf('reader')}"`)
    await expect(client.query(close)).rejects.toMatchObject({ code: '42501' })
    await client.query('reset role')
    client.release()
    expect((await admin.query(`select from outlay.closed_batch where batch_id = '${id}'`)).rows).toEqual([])
    await as('worker').query(close)
    expect((await admin.query(`select from outlay.closed_batch where batch_id = '${id}'`)).rows).toHaveLength(1)
  })

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
    await expect(engineOf('worker').migrate()).rejects.toMatchObject({
      code: 'insufficient_privilege',
      message: expect.stringContaining(
        `The database role "${nameOf('worker')}" may not migrate the schema "outlay". Migrate with a login of its owner`,
      ),
    })
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
    const { id } = await enqueue()
    expect(await web.transfers.get(id)).toMatchObject({ stage: 'queued' })
    expect(await web.transfers.get('01J0000000000000000000000A')).toBeUndefined()
    await expect(
      web.transaction('acme', (tx) => web.transfers.cancel(tx, '01J0000000000000000000000A')),
    ).rejects.toThrow('transfer')
    await forbid('enqueue', 'select * from outlay.moved_row')
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

  it('let the one that reads learn no digest of a payee, from which an account number can be guessed', async () => {
    for (const text of [
      'select payee from outlay.counterparty',
      'select c from outlay.counterparty c',
      `select * from outlay.registered_payees('{a}', '{}', '{}', '{b}')`,
    ])
      await forbid('reader', text)
    await as('reader').query('select address_id, account_id from outlay.counterparty')
    // Nor what makes the digests of sums out of one.
    await forbid('reader', 'select salt from outlay.limit_salt')
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
