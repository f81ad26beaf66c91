import { createEngine } from '@outlay/core'
import { drain, memoryGateway, type Postgres, startPostgres, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('a transaction of a host that is prepared first and committed later', () => {
  let server: Postgres
  let pool: pg.Pool
  beforeAll(async () => {
    server = await startPostgres({
      provider: 'embedded',
      durable: false,
      settings: { max_prepared_transactions: '10' },
    })
    const url = await server.createDatabase()
    await migrateOutbox(url)
    pool = new pg.Pool({ connectionString: url, max: 20 })
  })
  afterAll(async () => {
    await pool.end()
    await server.stop()
  })

  const make = (notify: boolean) => {
    const gateway = memoryGateway()
    const engine = createEngine({ backend: postgres({ driver: pgDriver(pool), notify }), gateway })
    return { engine, gateway }
  }
  const prepare = async (name: string, work: (tx: pg.PoolClient) => Promise<unknown>): Promise<void> => {
    const host = await pool.connect()
    try {
      await host.query('begin')
      await work(host)
      await host.query(`prepare transaction '${name}'`)
    } finally {
      host.release(true)
    }
  }

  it('is refused by Postgres when it has announced its writes', async () => {
    const { engine } = make(true)
    const refused = prepare('announced', (tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await expect(refused).rejects.toThrow('cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY')
  })

  it('can enqueue, change and command everything without announcing, and workers find it by polling', async () => {
    const { engine, gateway } = make(false)
    const commit = pgDriver(pool).transaction
    await engine.start({ pollIntervalMs: 20 })
    gateway.script(({ accountId }) =>
      accountId === 'poor' ? { outcome: 'insufficient_balance', detail: 'short', retryAfterMs: 3_600_000 } : undefined,
    )
    const { id: poor } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('poor')))
    await waitUntil(async () => (await engine.transfers.get(poor))?.stage === 'awaiting_funds')
    await commit((tx) => engine.accounts.pause(tx, 'paused'))
    const { id: paused } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('paused')))
    await waitUntil(async () => (await engine.transfers.get(paused))?.reason === 'account_paused')
    gateway.script(() => undefined)
    await prepare('everything', async (tx) => {
      await engine.transfers.enqueue(tx, samplePayout('one'))
      await engine.transfers.enqueueMany(
        tx,
        Array.from({ length: 2_500 }, () => samplePayout('many')),
      )
      await engine.accounts.resume(tx, 'paused')
      await engine.accounts.fundsArrived(tx, 'poor')
      await engine.accounts.configure(tx, 'one', { weight: 2 })
      await engine.transfers.observe(tx, 'one', [{ remoteId: 'unmatched', status: 'complete', failure: null }])
    })
    // It holds its locks without a session and without a limit, and no worker waits for it.
    const { id: other } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('other')))
    await waitUntil(async () => (await engine.transfers.get(other))?.stage === 'settled')
    expect(gateway.transfers.size).toBe(1)
    await pool.query(`commit prepared 'everything'`)
    expect(await drain(engine, { awaitingFunds: true })).toMatchObject({ settled: 2_504 })
    await engine.stop()
  })

  it.each(['standard_conforming_strings = off', 'array_nulls = off', 'backslash_quote = off', 'datestyle = german'])(
    'or one of a session with %s enqueues and commands like the rest',
    async (setting) => {
      const { engine } = make(true)
      const host = await pool.connect()
      try {
        await host.query(`set ${setting}`)
        await host.query('begin')
        const notBefore = new Date(Date.now() + 60_000)
        const note = `it's \\ "quoted" \\' NULL`
        const requests = [samplePayout('odd', { note, notBefore }), samplePayout('odd', { note: 'NULL' })]
        const [first, second] = await engine.transfers.enqueueMany(host, requests)
        const third = await engine.transfers.enqueue(host, samplePayout('odd', { note }))
        await engine.accounts.pause(host, 'odd')
        await engine.accounts.resume(host, 'odd')
        await engine.accounts.fundsArrived(host, 'odd')
        await engine.accounts.configure(host, 'odd', { ratePerSecond: 100 })
        await engine.transfers.release(host, third.id)
        await engine.transfers.observe(host, 'odd', [{ remoteId: `n\\'o`, status: 'complete', failure: null }])
        await engine.transfers.cancel(host, third.id)
        await host.query('commit')
        expect(await engine.transfers.get(first?.id ?? '')).toMatchObject({
          request: { note },
          notBefore: expect.stringContaining(notBefore.toISOString().slice(0, 23)),
        })
        expect(await engine.transfers.get(second?.id ?? '')).toMatchObject({
          request: { note: 'NULL' },
          notBefore: null,
        })
      } finally {
        host.release(true)
      }
    },
  )

  it('is no other where all sessions have these settings, those of workers and migrations included', async () => {
    const url = await server.createDatabase()
    const own = new pg.Pool({ connectionString: url, max: 20 })
    const { rows } = await own.query('select current_database() as name')
    for (const setting of ['standard_conforming_strings = off', 'array_nulls = off'])
      await own.query(`alter database "${rows[0].name}" set ${setting}`)
    await own.end()
    await migrateOutbox(url)
    const pool = new pg.Pool({ connectionString: url, max: 20 })
    const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway: memoryGateway() })
    const received: string[] = []
    engine.subscribe('books', ['transfer.completed'], async (event) => void received.push(event.transferId))
    try {
      await engine.start()
      const note = `it's \\ "quoted" \\' NULL`
      const [one, two] = await pgDriver(pool).transaction((tx) =>
        engine.transfers.enqueueMany(tx, [samplePayout('a', { note }), samplePayout('b', { note })]),
      )
      await drain(engine)
      expect(received.sort()).toEqual([one?.id, two?.id].sort())
      expect(await engine.transfers.get(one?.id ?? '')).toMatchObject({ request: { note } })
    } finally {
      await engine.stop()
      await pool.end()
    }
  })
})
