import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type EnqueueRequest } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/packages.ts'
import {
  approveExpense,
  enqueueRent,
  lastBankingDay,
  momentIn,
  noteForCustomer,
  payRun,
  postNext,
  requestExpense,
  tomorrowAtNine,
} from './recipes.ts'

it('the guide has the code that is tested here', async () => {
  const guide = await readFile(join(root, 'docs/guides/recipes.md'), 'utf8')
  const code = await readFile(join(import.meta.dirname, 'recipes.ts'), 'utf8')
  const blocks = [...guide.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block)
  expect(blocks.length).toBeGreaterThan(5)
  for (const block of blocks) expect(code).toContain(block)
})

it.each([
  ['2026-11-26T20:00:00Z', '2026-11-27T14:00:00.000Z'],
  // It is still the 26th in New York.
  ['2026-11-27T03:00:00Z', '2026-11-27T14:00:00.000Z'],
  // The clocks go forward on the 8th of March, and back on the 1st of November.
  ['2026-03-07T20:00:00Z', '2026-03-08T13:00:00.000Z'],
  ['2026-10-31T20:00:00Z', '2026-11-01T14:00:00.000Z'],
])('tomorrow at nine in New York, at %s, is %s', (now, expected) => {
  expect(tomorrowAtNine(new Date(now)).toISOString()).toBe(expected)
})

it.each([
  [2026, 11, '2026-11-30'],
  [2026, 10, '2026-10-30'],
  [2027, 1, '2027-01-29'],
  [2027, 5, '2027-05-28'],
  [2028, 2, '2028-02-29'],
])('the last banking day of %i-%i is %s', (year, month, expected) => {
  expect(lastBankingDay(year, month, ['2027-05-31'])).toBe(expected)
})

it('a moment in a zone is the one that its clock shows', () => {
  expect(momentIn('Asia/Kolkata', 2026, 7, 1, 9).toISOString()).toBe('2026-07-01T03:30:00.000Z')
})

describe('with an engine', async () => {
  const database = await testDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  const driver = pgDriver(pool)
  const gateway = memoryGateway()
  const engine = createEngine({ backend: postgres({ driver }), gateway })
  const completed: (string | undefined)[] = []
  const request = {
    ...{ accountId: 'acme', amount: { value: '12.50', currency: 'USD' } },
    source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
  } satisfies EnqueueRequest
  beforeAll(async () => {
    await engine.migrate()
    await pool.query(
      `create table expense (id text primary key, requested_by text not null, approved_by text, request jsonb not null)`,
    )
    await pool.query(
      `create table customer_webhook (id text primary key, body jsonb not null, next_at timestamptz not null default now())`,
    )
    engine.subscribe('runs', ['batch.completed'], async ({ transfer }, tx) => {
      completed.push((await engine.batches.get(transfer.batchId ?? '', tx))?.key ?? undefined)
    })
    engine.subscribe('customers', ['transfer.completed'], async (event, tx) => {
      if (event.transfer.metadata?.['order'] !== undefined) await noteForCustomer(event, tx)
    })
    await engine.start({ pollIntervalMs: 10 })
  })
  afterAll(async () => {
    await engine.stop()
    await pool.end()
  })

  it('the rent of a month waits for its last banking day, once', async () => {
    const enqueue = () => driver.transaction((tx) => enqueueRent(engine, tx, request, [2031, 5], ['2031-05-30']))
    const first = await enqueue()
    expect(first.notBefore).toBe('2031-05-29T13:00:00.000Z')
    expect(await enqueue()).toMatchObject({ id: first.id, reused: true })
  })

  it('five hundred payments have one completion, also when the run is started twice', async () => {
    const payments = Array.from({ length: 500 }, () => request)
    const start = () => driver.transaction((tx) => payRun(engine, tx, 'november', payments))
    const id = await start()
    expect(await start()).toBe(id)
    await waitUntil(() => completed.length > 0, { describe: 'the completion' })
    expect((await engine.batches.get(id))?.counts).toMatchObject({ total: 500, complete: 500 })
    expect(completed).toEqual(['november'])
  })

  it('a canceled payment is corrected and sent again, once', async () => {
    const { id } = await driver.transaction(async (tx) => {
      const wrong = await engine.transfers.enqueue(tx, { ...request, notBefore: '2031-01-01T00:00:00Z' })
      await engine.transfers.cancel(tx, wrong.id)
      return wrong
    })
    const amount = { value: '21.50', currency: 'USD' }
    const again = () => driver.transaction((tx) => engine.transfers.resubmit(tx, id, { amount, notBefore: null }))
    const first = await again()
    expect(await again()).toMatchObject({ id: first.id, reused: true })
    expect(await engine.transfers.get(id)).toMatchObject({ resubmittedAs: first.id })
  })

  it('an expense above the limit waits for somebody else', async () => {
    const ask = (id: string, limit: string) =>
      driver.transaction((tx) =>
        requestExpense(engine, tx, { id, by: 'ana', limit: { value: limit, currency: 'USD' }, request }),
      )
    const approve = (id: string, by: string) => driver.transaction((tx) => approveExpense(engine, tx, id, by))
    expect(await ask('small', '100')).toBe('enqueued')
    expect(await ask('great', '10')).toBe('waits')
    expect(await engine.transfers.getByKey('acme', 'expense-great')).toBeUndefined()
    await expect(approve('great', 'ana')).rejects.toThrow('Somebody else')
    const results = await Promise.allSettled([approve('great', 'ben'), approve('great', 'eva')])
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await engine.transfers.getByKey('acme', 'expense-great')).toBeDefined()
  })

  it('a customer gets a webhook for each payment, again after a failure', async () => {
    const bodies: string[] = []
    const server = createServer(async (incoming, answer) => {
      let body = ''
      for await (const chunk of incoming) body += chunk
      bodies.push(body)
      answer.writeHead(bodies.length === 1 ? 500 : 200).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await driver.transaction((tx) => engine.transfers.enqueue(tx, { ...request, metadata: { order: '1042' } }))
    await waitUntil(async () => (await pool.query('select 1 from customer_webhook')).rows.length > 0)
    expect(await postNext(pool, url, 'secret')).toBe(false)
    expect(await postNext(pool, url, 'secret')).toBe(false)
    await pool.query('update customer_webhook set next_at = now()')
    expect(await postNext(pool, url, 'secret')).toBe(true)
    expect(bodies).toHaveLength(2)
    expect(bodies[1]).toBe(bodies[0])
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ type: 'transfer.completed', payment: '1042' })
    expect((await pool.query('select 1 from customer_webhook')).rows).toEqual([])
    server.close()
  })
})
