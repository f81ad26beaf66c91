import { createEngine } from '@outlay/core'
import {
  drain,
  memoryGateway,
  type Postgres,
  recordingLogger,
  seededRandom,
  startPostgres,
  startTcpProxy,
  type TcpProxy,
  waitUntil,
} from '@outlay/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { samplePayout } from '../test/outbox.ts'
import { postgres } from './backend.ts'
import { pgDriver } from './drivers/pg.ts'

describe('a restart of Postgres under the workers', () => {
  let server: Postgres
  let pool: pg.Pool

  beforeAll(async () => {
    // A separate server, with fsync: this test stops it.
    server = await startPostgres({ provider: 'embedded' })
    pool = new pg.Pool({ connectionString: await server.createDatabase() })
    await postgres({ driver: pgDriver(pool) }).migrate()
    await pool.query('create table effect (transfer_id text references outlay.transfer (id))')
  })
  afterAll(async () => {
    // The workers have listened until now.
    pool.on('error', () => undefined)
    await pool.end()
    await server.stop()
  })

  it('is survived by the workers, with nothing lost and nothing done twice', async () => {
    const gateway = memoryGateway()
    const engines = Array.from({ length: 2 }, () => {
      const logger = recordingLogger()
      const engine = createEngine({
        backend: postgres({ driver: pgDriver(pool), logger }),
        gateway,
        runtime: { logger },
      })
      engine.subscribe('effects', ['transfer.completed'], async (event, tx) => {
        await tx.query('insert into effect values ($1)', [event.transferId])
      })
      return engine
    })
    const [engine] = engines
    if (engine === undefined) throw new Error('There is no engine.')
    // Each answer takes a moment, so that every restart finds transfers in each stage.
    const random = seededRandom(51)
    gateway.scriptAfter(() => new Promise((done) => setTimeout(() => done(undefined), 20 + random.fraction() * 200)))
    await Promise.all(engines.map((one) => one.start({ concurrency: 20 })))
    const requests = Array.from({ length: 1_500 }, () => samplePayout('acme'))
    await pgDriver(pool).transaction((tx) => engine.transfers.enqueueMany(tx, requests))
    for (const [mode, submitted] of [
      ['immediate', 100],
      ['fast', 500],
      ['immediate', 900],
    ] as const) {
      await waitUntil(() => gateway.submissions.length >= submitted, { timeoutMs: 60_000 })
      await server.restart({ mode })
    }
    await waitUntil(() =>
      pool.query('select 1').then(
        () => true,
        () => false,
      ),
    )
    const backlog = await drain(engine, { timeoutMs: 240_000 })
    expect(backlog).toMatchObject({ settled: 1_500, undelivered: 0, deadLetters: 0, blocked: 0 })
    expect(gateway.transfers.size).toBe(1_500)
    const { rows } = await pool.query(
      'select count(*)::integer as effects, count(distinct transfer_id)::integer as transfers from effect',
    )
    expect(rows[0]).toEqual({ effects: 1_500, transfers: 1_500 })
    const statuses = await pool.query('select distinct status from outlay.transfer')
    expect(statuses.rows).toEqual([{ status: 'complete' }])
    await Promise.all(engines.map((one) => one.stop()))
  }, 360_000)

  it.each([
    ['is reset', (cable: TcpProxy) => cable.cut()],
    ['swallows everything', (cable: TcpProxy) => cable.stall()],
  ])('does not keep a worker from stopping while its network %s, and another sends the same key', async (_, fail) => {
    const gateway = memoryGateway()
    const url = new URL(await server.createDatabase())
    const cable = await startTcpProxy({ host: url.hostname, port: Number(url.port) })
    const [near, far] = [new pg.Pool({ connectionString: url.toString() }), new URL(url)]
    far.port = String(cable.port)
    const cut = new pg.Pool({ connectionString: far.toString() })
    cut.on('error', () => undefined)
    await postgres({ driver: pgDriver(near) }).migrate()
    let answer = () => {}
    const answered = new Promise<undefined>((resolve) => {
      answer = () => resolve(undefined)
    })
    gateway.scriptAfter(() => answered)
    const worker = createEngine({ backend: postgres({ driver: pgDriver(cut) }), gateway })
    await worker.start({ stopTimeoutMs: 100 })
    await pgDriver(near).transaction((tx) => worker.transfers.enqueue(tx, samplePayout('acme')))
    await waitUntil(() => gateway.submissions.length > 0)
    fail(cable)
    answer()
    await worker.stop()
    await cable.stop()
    const other = createEngine({ backend: postgres({ driver: pgDriver(near) }), gateway, polling: { maxDelayMs: 50 } })
    await other.start()
    expect(await drain(other, { timeoutMs: 60_000 })).toMatchObject({ settled: 1 })
    await other.stop()
    expect(gateway.transfers.size).toBe(1)
    expect(new Set(gateway.submissions.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
    await Promise.all([near, cut].map((pool) => pool.end()))
  })
})
