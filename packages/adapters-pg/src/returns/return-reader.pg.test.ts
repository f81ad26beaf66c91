import type { TransferEvent, TransferReturn } from '@outlay/core'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { samplePayout } from '../../test/outbox.ts'
import { createClockJumpStore } from '../clock/clock-jumps.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createReturnReadingStore } from './return-readings.ts'

const dayMs = 86_400_000
/** Of payouts by ACH. */
const windowMs = 6 * dayMs

const back = (value: string): TransferReturn => ({
  ...{ code: 'R03', amount: { value, currency: 'USD' }, occurredAt: '2026-01-09T09:00:00.000Z' },
})

describe('the returns of a service that sends no webhooks', async () => {
  const { pool, driver, open, commit, enqueue, enqueueMany, rows } = await testHost()

  function make(gateway = listedGateway()) {
    const logger = recordingLogger()
    const engine = open({ gateway: Object.assign(gateway, { reportsReturns: true }), logger })
    const received: TransferEvent[] = []
    engine.subscribe('books', ['transfer.completed', 'transfer.returned'], async (event) => {
      received.push(event)
    })
    const returned = () => received.filter(({ type }) => type === 'transfer.returned')
    /** Makes payouts that are complete, and forgets the requests until then. */
    const complete = async (count: number) => {
      await engine.start()
      const payouts = await enqueueMany(engine, count)
      await waitUntil(async () => (await engine.backlog()).submitted === count, { timeoutMs: 60_000 })
      const ids = (await rows('select remote_id from outlay.transfer order by id')).map((row) => String(row.remote_id))
      for (const id of ids) gateway.setStatus(id, 'complete')
      await pool.query('update outlay.transfer set next_poll_at = now() where next_poll_at is not null')
      await waitUntil(async () => (await engine.backlog()).settled === count, { timeoutMs: 60_000 })
      Object.assign(gateway.requests, { get: 0, list: 0 })
      await pool.query('select outlay.find_return_accounts()')
      return { ids, payouts }
    }
    return { gateway, engine, received, returned, complete, logger }
  }
  const windows = async () => (await rows('select 1 from outlay.return_window where closed_at is null')).length
  /** Lets time pass for what waits for returns, and waits until no reading is due or under way. */
  async function pass(ms: number) {
    await pool.query(
      `update outlay.return_window set opened_at = opened_at - $1 * interval '1 millisecond', ends_at = ends_at - $1 * interval '1 millisecond',
         missing_at = missing_at - $1 * interval '1 millisecond', closed_at = closed_at - $1 * interval '1 millisecond'`,
      [ms],
    )
    await pool.query(
      `update outlay.return_reading set read_at = read_at - $1 * interval '1 millisecond', next_at = now()`,
      [ms],
    )
    // A lease would be a quarter of a minute, the next decision is hours away.
    const open = `select 1 from outlay.return_reading where began_at is not null or next_at < now() + interval '1 minute'`
    await waitUntil(async () => (await rows(open)).length === 0, { timeoutMs: 60_000 })
  }

  it('are found with a tenth of a request for each transfer over the whole window', async () => {
    const { gateway, complete, returned, engine } = make()
    const { ids } = await complete(400)
    expect(await windows()).toBe(400)
    const expected = new Set<string>()
    for (let step = 1; step <= 30 && (await windows()) > 0; step += 1) {
      // The last ones come at the last moment.
      for (const id of step <= 20 ? ids.slice(step * 10, step * 10 + 2) : []) {
        gateway.setReturns(id, [back('12.50')])
        expected.add(id)
      }
      await pass(windowMs / 20)
    }
    expect(await windows()).toBe(0)
    await waitUntil(() => returned().length === expected.size)
    expect(new Set(returned().map(({ transfer }) => transfer.remoteId))).toEqual(expected)
    const { get, list } = gateway.requests
    expect(list).toBeGreaterThan(4)
    expect((get + list) / 400).toBeLessThanOrEqual(0.1)
    expect(await rows('select 1 from outlay.return_reading')).toEqual([])
    await engine.stop()
  })

  it('of few transfers are found at the end of the window, with one request each', async () => {
    const { gateway, complete, returned } = make()
    const { ids } = await complete(3)
    gateway.setReturns(ids[0] ?? '', [back('12.50')])
    for (let step = 1; step <= 12; step += 1) await pass(windowMs / 10)
    await waitUntil(() => returned().length === 1)
    expect(gateway.requests).toEqual({ get: 3, list: 0 })
    expect(await windows()).toBe(0)
  })

  it('are read one by one where the list does not show them', async () => {
    const { gateway, complete, returned } = make()
    const { ids } = await complete(12)
    for (const id of ids.slice(0, 2)) {
      gateway.hidden.add(id)
      gateway.setReturns(id, [back('12.50')])
    }
    await pass(windowMs + dayMs)
    await waitUntil(() => returned().length === 2)
    expect(gateway.requests).toEqual({ get: 2, list: 1 })
    expect(await windows()).toBe(0)
  })

  it('are read one by one where the list cannot be read', async () => {
    const { gateway, complete, returned } = make()
    const { ids } = await complete(12)
    gateway.onList = () => Promise.reject(new Error('The list is broken.'))
    gateway.setReturns(ids[0] ?? '', [back('12.50')])
    await pass(windowMs + dayMs)
    await waitUntil(() => returned().length === 1)
    expect(gateway.requests).toEqual({ get: 12, list: 1 })
  })

  it('are read by another worker when one dies in the middle of a reading', async () => {
    const { gateway, complete, engine, returned } = make()
    const { ids } = await complete(250)
    gateway.setReturns(ids[0] ?? '', [back('12.50')])
    let pages = 0
    gateway.onList = async (_, signal) => {
      pages += 1
      // The second page never comes.
      if (pages === 2)
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const passed = pass(windowMs + dayMs)
    await waitUntil(() => pages === 2)
    await engine.stop()
    const other = make(gateway)
    await other.engine.start()
    await passed
    await waitUntil(() => returned().length + other.returned().length === 1)
    expect(await windows()).toBe(0)
    expect(gateway.requests.list).toBeLessThanOrEqual(4)
  })

  it('keep the history of their transfers out of the archive until the window has ended', async () => {
    const { complete, engine } = make()
    await complete(2)
    const archive = () => engine.archive({ olderThanMs: 0 })
    expect(await archive()).toMatchObject({ archived: 0 })
    await pass(windowMs - 60_000)
    expect(await archive()).toMatchObject({ archived: 0 })
    await pass(120_000)
    expect(await archive()).toMatchObject({ archived: 2 })
  })

  it('are not asked for where money cannot come back, nor where the service does not report it', async () => {
    const { engine, gateway } = make()
    await engine.start()
    const chain = { addressId: '01J0000000000000000000000B', valueType: 'USDC', transferType: 'base' }
    const { id } = await commit((tx) =>
      engine.transfers.enqueue(
        tx,
        samplePayout('acme', { amount: { value: '12.50', currency: 'USDC' }, destination: chain }),
      ),
    )
    await reach(engine, id, { stage: 'submitted' })
    gateway.setStatus('remote-1', 'complete')
    await commit((tx) => engine.transfers.observe(tx, 'acme', [gateway.observe('remote-1')]))
    const silent = open({ gateway: { ...gateway, reportsReturns: false } })
    await enqueue(engine)
    await waitUntil(async () => (await engine.backlog()).submitted === 1)
    gateway.setStatus('remote-2', 'complete')
    await commit((tx) => silent.transfers.observe(tx, 'acme', [gateway.observe('remote-2')]))
    expect(await engine.backlog()).toMatchObject({ settled: 2 })
    expect(await windows()).toBe(0)
  })

  it('are read at once when one was reported before the answer to the create', async () => {
    const { engine, gateway, returned } = make()
    const answered = Promise.withResolvers<undefined>()
    gateway.answer = async (_, moment) => {
      if (moment === 'before') return undefined
      // The answer is of the moment before the return.
      await answered.promise
      return {
        outcome: 'accepted',
        remoteId: 'remote-1',
        observation: { remoteId: 'remote-1', status: 'complete', failure: null },
      }
    }
    await engine.start()
    await enqueue(engine)
    await waitUntil(() => gateway.transfers.size === 1)
    gateway.setStatus('remote-1', 'complete')
    gateway.setReturns('remote-1', [back('12.50')])
    expect(await commit((tx) => engine.transfers.observe(tx, 'acme', [gateway.observe('remote-1')]))).toBe(0)
    answered.resolve(undefined)
    await waitUntil(() => returned().length === 1)
    expect(gateway.requests).toEqual({ get: 1, list: 0 })
    expect(await rows('select wanted from outlay.return_window')).toEqual([{ wanted: false }])
  })

  it('are given up where the service does not know the transfer any more, an hour later either', async () => {
    const { gateway, complete, logger } = make()
    await complete(1)
    let asked = 0
    gateway.get = async () => {
      asked += 1
      return undefined
    }
    await pass(windowMs + dayMs)
    await pass(30 * 60_000)
    expect([await windows(), asked]).toEqual([1, 1])
    await pass(31 * 60_000)
    expect([await windows(), asked]).toEqual([0, 2])
    expect(logger.entries.filter(({ level }) => level === 'warn')).toHaveLength(2)
  })

  it('are found where the service did not know the transfer for once', async () => {
    const { gateway, complete, returned } = make()
    const { ids } = await complete(1)
    gateway.setReturns(ids[0] ?? '', [back('12.50')])
    const { get } = gateway
    gateway.get = async () => undefined
    await pass(windowMs + dayMs)
    gateway.get = get
    await pass(61 * 60_000)
    await waitUntil(() => returned().length === 1)
    expect(await windows()).toBe(0)
  })

  it('are read again where the clock was ahead when the last reading was applied, and the rows are forgotten hours later', async () => {
    const { gateway, complete, returned } = make()
    const { ids } = await complete(2)
    const aheadMs = 100 * dayMs
    // What is stored is a hundred days old, and so the clock is ahead.
    await pass(aheadMs)
    expect(await windows()).toBe(0)
    const jump = `update outlay.return_window set opened_at = opened_at + $1 * interval '1 millisecond',
      ends_at = ends_at + $1 * interval '1 millisecond', closed_at = closed_at + $1 * interval '1 millisecond'`
    await pool.query(jump, [aheadMs])
    await createClockJumpStore(driver, resolveNames({}).tokens).setBack(aheadMs)
    expect(await windows()).toBe(2)
    gateway.setReturns(ids[0] ?? '', [back('12.50')])
    await pool.query('select outlay.find_return_accounts()')
    await pass(windowMs + dayMs)
    await waitUntil(() => returned().length === 1)
    expect(await windows()).toBe(0)
    await pool.query(`update outlay.return_window set closed_at = closed_at - interval '7 hours'`)
    await createReturnReadingStore(driver, resolveNames({}).tokens).findAccounts()
    expect(await rows('select 1 from outlay.return_window')).toEqual([])
  })

  it('of an adopted debit are found in its window of 60 days', async () => {
    const { engine, gateway, returned } = make()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    const source = { valueType: 'USD', transferType: 'ach_debit' }
    const { id } = gateway.add({ status: 'complete', source })
    await engine.start()
    await waitUntil(async () => (await windows()) === 1)
    expect(
      await rows(
        `select round(extract(epoch from ends_at - opened_at) / 86400)::integer as days from outlay.return_window`,
      ),
    ).toEqual([{ days: 60 }])
    await commit((tx) => engine.accounts.unwatch(tx, 'acme'))
    await pool.query('select outlay.find_return_accounts()')
    gateway.setReturns(id, [back('250')])
    await pass(61 * dayMs)
    await waitUntil(() => returned().length === 1)
  })
})
