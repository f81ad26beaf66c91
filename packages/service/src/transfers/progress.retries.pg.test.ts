import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { BalanceResource } from '../balances/balances.ts'
import { inTransaction } from '../context.ts'
import type { TransferResource } from './view.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '100' }])
  const body = { url: 'http://127.0.0.1:1/', event_types: ['transfer.*'] }
  expect((await api.call('POST', `/accounts/${api.accountId}/webhooks`, { body })).status).toBe(201)
})
afterAll(() => api.stop())

const day = 86_400
const address = { street_line_1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' }
const wallet = () => ({ address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' })
const addBank = async (accountNumber: string): Promise<string> => {
  const body = {
    owner: 'Jane Roe',
    name: `Bank ${accountNumber}`,
    account_number: accountNumber,
    routing_number: '021000021',
    account_type: 'checking',
    bank_address: address,
    beneficiary_address: address,
    transfer_types: ['ach_debit', 'ach_credit'],
  }
  return (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })).body.id
}
const bankLeg = async (accountNumber: string, transferType: string) => ({
  address_id: await addBank(accountNumber),
  value_type: 'USD',
  transfer_type: transferType,
})
const transfer = async (source: unknown, destination: unknown): Promise<TransferResource> => {
  const body = { amount: { value: '50', currency: 'USD' }, source, destination }
  const created = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, { body })
  expect(created.status).toBe(201)
  return reaches(created.body.id, 'processing')
}
const debit = async (accountNumber: string) => transfer(await bankLeg(accountNumber, 'ach_debit'), wallet())
const reaches = (id: string, status: string, more: object = {}): Promise<TransferResource> =>
  vi.waitFor(
    async () => {
      const { body } = await api.call<TransferResource>('GET', `/accounts/${api.accountId}/transfers/${id}`)
      expect(body).toMatchObject({ status, ...more })
      return body
    },
    { timeout: 60_000, interval: 25 },
  )
const simulation = () => {
  const { rails } = api.sandbox.service.context
  return (rails as typeof rails & { simulation: { tick(): Promise<number> } }).simulation
}
/** When the next step of a payment is due, in virtual time; undefined when there is none. */
const dueAt = async (id: string): Promise<Date | undefined> => {
  const { pool, schema } = api.sandbox.service.context
  const { rows } = await inspect(pool).query(`select next_at from ${schema}.rail_payment where transfer_id = $1`, [id])
  return rows[0]?.next_at ?? undefined
}
const advance = (seconds: number) => api.call('POST', '/simulations/clock/advance', { body: { seconds } })
/** Lets time pass until the next step of a payment is due. */
const advanceToNext = async (id: string): Promise<void> => {
  const due = await dueAt(id)
  const { body } = await api.call<{ now: string }>('GET', '/simulations/clock')
  if (due === undefined) throw new Error('Nothing is due.')
  await advance(Math.max(0, Math.ceil((due.getTime() - Date.parse(body.now)) / 1000)))
}
const balance = async () => {
  const path = `/accounts/${api.accountId}/addresses/${api.walletId}/balance?value_type=USDC&transfer_type=base`
  const { body } = await api.call<BalanceResource>('GET', path)
  return { balance: Number(body.balance.value), available: Number(body.available.value) }
}
const receivedOf = async (id: string): Promise<readonly { type: string; data: TransferResource }[]> => {
  const { pool, schema } = api.sandbox.service.context
  const { rows } = await inspect(pool).query(`select body from ${schema}.webhook_event order by id`)
  return rows.map(({ body }) => JSON.parse(body)).filter(({ data }) => data.id === id)
}
const stepsOf = async (id: string) => (await receivedOf(id)).map(({ type }) => type.replace('transfer.', ''))

it('a debit that bounces once is presented again after a pause, and mints when it is through, not before', async () => {
  const before = await balance()
  const first = await debit('0005550101')
  await advanceToNext(first.id)
  const failed = await reaches(first.id, 'failed')
  expect(failed.failure).toMatchObject({ code: 'R01', retriable: true, ach_return: { code: 'R01' } })
  expect(await balance()).toEqual(before)

  await advanceToNext(first.id)
  const again = await reaches(first.id, 'processing', { failure: null })
  expect(Date.parse(again.updated_at)).toBeGreaterThan(Date.parse(String(failed.failure?.['occurred_at'])))
  expect(again.source.transaction_id).toBe(first.source.transaction_id)
  expect(again.source.payment_details?.['trace_number']).toMatch(/^\d{15}$/)
  expect(again.source.payment_details?.['trace_number']).not.toBe(first.source.transaction_id)
  expect(await balance()).toEqual(before)

  await advanceToNext(first.id)
  await reaches(first.id, 'complete', { failure: null })
  expect(await balance()).toEqual({ balance: before.balance + 50, available: before.available + 50 })
  expect(await stepsOf(first.id)).toEqual(['created', 'processing', 'failed', 'processing', 'completed'])
  expect(await dueAt(first.id)).toBeUndefined()
})

it('a debit that bounced before it was through comes back behind that by itself', async () => {
  const before = await balance()
  const { id } = await debit('0005550101')
  for (const status of ['failed', 'processing', 'complete']) {
    await advanceToNext(id)
    await reaches(id, status)
  }
  expect((await api.call('POST', `/simulations/transfers/${id}/return`, { body: { code: 'R10' } })).status).toBe(202)
  await vi.waitFor(
    async () => {
      await simulation().tick()
      expect((await receivedOf(id)).at(-1)?.type).toBe('transfer.returned')
    },
    { timeout: 60_000 },
  )
  expect(await balance()).toEqual(before)
})

it('a debit that bounces three times has failed finally, and nothing was minted', async () => {
  const before = await balance()
  const { id } = await debit('0005550009')
  for (const retriable of [true, true, false]) {
    await advanceToNext(id)
    expect((await reaches(id, 'failed')).failure).toMatchObject({ code: 'R09', retriable })
    expect(await balance()).toEqual(before)
    if (!retriable) break
    await advanceToNext(id)
    await reaches(id, 'processing')
  }
  expect(await dueAt(id)).toBeUndefined()
  expect(await stepsOf(id)).toEqual([
    'created',
    ...['processing', 'failed', 'processing', 'failed', 'processing', 'failed'],
  ])
  const failures = (await receivedOf(id)).flatMap(({ data }) => (data.failure === null ? [] : [data.failure]))
  expect(new Set(failures.map((failure) => failure['occurred_at'])).size).toBe(3)
})

it('a clock that jumps over every step leads to the same end by the same steps', async () => {
  const before = await balance()
  const { id } = await debit('0005550201')
  await advance(40 * day)
  await reaches(id, 'complete')
  await simulation().tick()
  expect((await balance()).balance).toBe(before.balance + 50)
  expect(await stepsOf(id)).toEqual([
    'created',
    ...['processing', 'failed', 'processing', 'failed', 'processing', 'completed'],
  ])
})

it('a return at will is presented again when its code is of the kind, and is the end otherwise', async () => {
  const [retried, ended] = [await debit('0005557777'), await debit('0005558888')]
  await api.call('POST', `/simulations/transfers/${retried.id}/return`, { body: { code: 'R01' } })
  await api.call('POST', `/simulations/transfers/${ended.id}/return`, { body: { code: 'R02' } })
  await reaches(ended.id, 'failed', { failure: expect.objectContaining({ code: 'R02', retriable: false }) })
  expect(await dueAt(ended.id)).toBeUndefined()
  await reaches(retried.id, 'failed', { failure: expect.objectContaining({ code: 'R01', retriable: true }) })
  await advance(20 * day)
  await reaches(retried.id, 'complete')
})

it('a credit that is returned for lack of funds is not presented again', async () => {
  const { id } = await transfer(wallet(), await bankLeg('0005550001', 'ach_credit'))
  await advance(8 * day)
  await reaches(id, 'failed', { failure: expect.objectContaining({ code: 'R01', retriable: false }) })
  expect(await dueAt(id)).toBeUndefined()
})

it('money stays held while a failure is retriable, and is given back when the next one is final', async () => {
  const before = await balance()
  const { id, destination } = await transfer(wallet(), await bankLeg('0005559999', 'ach_credit'))
  const { context } = api.sandbox.service
  const fail = (retriable: boolean, occurredAt: string) =>
    inTransaction(context, (tx) =>
      context.engine.transfers.observe(tx, api.accountId, [
        {
          remoteId: destination.transaction_id ?? '',
          status: 'failed',
          failure: { type: 'rejected', code: 'busy', detail: 'Busy', occurredAt, retriable },
        },
      ]),
    )
  await fail(true, '2026-01-01T00:00:00.000Z')
  await reaches(id, 'failed', { failure: expect.objectContaining({ retriable: true }) })
  expect(await balance()).toEqual({ balance: before.balance, available: before.available - 50 })
  await fail(false, '2026-01-02T00:00:00.000Z')
  await reaches(id, 'failed', { failure: expect.objectContaining({ retriable: false }) })
  expect(await balance()).toEqual(before)
})

it('every posting sums to zero, and every balance equals its entries', async () => {
  const { pool, schema } = api.sandbox.service.context
  const unbalanced = await inspect(pool).query(
    `select posting_id from ${schema}.ledger_entry group by posting_id, step, value_type having sum(amount) <> 0`,
  )
  const drifted = await inspect(pool).query(
    `select id from ${schema}.ledger_balance
      where kind = 'custodial' and (available <> entries_available or held <> entries_held)`,
  )
  expect([unbalanced.rows, drifted.rows]).toEqual([[], []])
})
