import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import { deposit, type NewDeposit } from './deposits.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
beforeAll(async () => {
  api = await testSandbox(database.url)
  payments = testPayments(api)
  context = api.sandbox.service.context
})
afterAll(() => api.stop())

const arrival = (reference: string, fields: Partial<NewDeposit> = {}): NewDeposit => ({
  accountId: api.accountId,
  addressId: api.walletId,
  valueType: 'USDC',
  transferType: 'base',
  amount: '7.50',
  reference,
  ...fields,
})
const book = (given: NewDeposit) => inTransaction(context, (tx) => deposit(tx, context, given))

it('a deposit is credited once for its reference, however often and by however many processes it is booked', async () => {
  const before = await payments.balance()
  const first = await book(arrival('0xa1'))
  expect(first).toMatchObject({ ...arrival('0xa1'), outcome: 'credited' })
  const again = await Promise.all(Array.from({ length: 10 }, () => book(arrival('0xa1'))))
  expect(again).toEqual(again.map(() => first))
  expect((await book(arrival('0xa1', { amount: '7.500' }))).id).toBe(first.id)
  expect(await payments.balance()).toBe(before + 7.5)
  const raced = await Promise.all(Array.from({ length: 10 }, () => book(arrival('0xa2'))))
  expect(new Set(raced.map(({ id }) => id)).size).toBe(1)
  expect(await payments.balance()).toBe(before + 15)
  expect(await payments.exceptions()).toEqual([])
  await expectSoundLedger(context)
})

it('the same reference on another chain is another deposit', async () => {
  const before = await payments.balance()
  const base = await book(arrival('0xb1'))
  const polygon = await book(arrival('0xb1', { transferType: 'polygon' }))
  expect([base.outcome, polygon.outcome]).toEqual(['credited', 'credited'])
  expect(polygon.id).not.toBe(base.id)
  expect(await payments.balance()).toBe(before + 7.5)
})

it.each<[string, () => Partial<NewDeposit>]>([
  ['amount', () => ({ amount: '8' })],
  ['value type', () => ({ valueType: 'USDT' })],
  ['account', () => ({ accountId: api.otherAccountId, addressId: api.otherWallet.addressId })],
])('the same reference with another %s is an exception, and is not credited', async (what, fields) => {
  const reference = `0xc-${what}`
  const first = await book(arrival(reference))
  const before = await payments.balance()
  const second = await book(arrival(reference, fields()))
  expect(second).toMatchObject({ outcome: 'exception' })
  expect((await book(arrival(reference, fields()))).id).toBe(second.id)
  expect((await book(arrival(reference))).id).toBe(first.id)
  expect(await payments.balance()).toBe(before)
  const exceptions = (await payments.exceptions()).filter((one) => one.reference === reference)
  expect(exceptions).toMatchObject([{ id: second.id, kind: 'deposit', rail: 'base', reason: 'reference_reused' }])
})

it('a person credits a deposit whose reference was used before, once', async () => {
  await book(arrival('0xd1'))
  const { id } = await book(arrival('0xd1', { amount: '3' }))
  const before = await payments.balance()
  const apply = () =>
    inTransaction(context, (tx) => resolveRailException(tx, context, id, { action: 'apply', by: 'ops@example.com' }))
  expect(await apply()).toMatchObject({ resolution: { action: 'applied' } })
  await expect(apply()).rejects.toMatchObject({ code: 'conflict' })
  expect(await payments.balance()).toBe(before + 3)
  await expectSoundLedger(context)
})

it('a deposit whose transaction is rolled back is not known, and is credited later', async () => {
  const before = await payments.balance()
  const failing = inTransaction(context, async (tx) => {
    await deposit(tx, context, arrival('0xe1'))
    throw new Error('The process ends here.')
  })
  await expect(failing).rejects.toThrow('ends here')
  expect(await payments.balance()).toBe(before)
  expect(await book(arrival('0xe1'))).toMatchObject({ outcome: 'credited' })
  expect(await payments.balance()).toBe(before + 7.5)
})

it('a deposit without a reference is refused', async () => {
  await expect(book(arrival(''))).rejects.toMatchObject({ code: 'missing_field' })
  await expect(book({ ...arrival(''), reference: undefined as never })).rejects.toMatchObject({ code: 'missing_field' })
})

it.each([
  ['address_id', { address_id: '01M8CRBX6VYQK1SC9Y39YPC5SV' }],
  ['value_type', { value_type: 'XYZ' }],
  ['transfer_type', { transfer_type: 'wire' }],
])('a simulated deposit that is wrong is refused with the %s as it was sent', async (name, wrong) => {
  const to = { account_id: api.accountId, address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const body = { ...to, amount: '5', ...wrong }
  const refused = await api.call<{ errors: object[] }>('POST', '/simulations/deposits', { body })
  expect(refused.body.errors).toMatchObject([{ source: { pointer: `/${name}` } }])
})

it('a simulated deposit with a reference is one, and another amount with it is refused', async () => {
  const before = await payments.balance()
  const send = (amount: string) => {
    const to = { account_id: api.accountId, address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
    return api.call<{ id: string }>('POST', '/simulations/deposits', { body: { ...to, amount, reference: '0xf1' } })
  }
  const [first, second] = [await send('5'), await send('5')]
  expect(second.body).toEqual(first.body)
  expect((await send('6')).status).toBe(409)
  expect((await payments.exceptions()).filter((one) => one.reference.endsWith('/0xf1'))).toHaveLength(1)
  expect(await payments.balance()).toBe(before + 5)
})

it.each([
  ['0xABcd', '0xabCD'],
  [`0x${'A'.repeat(64)}:1`, `0x${'a'.repeat(64)}:1`],
  ['AB'.repeat(32), 'ab'.repeat(32)],
])('the hash %s is the same in the other case, and is credited once', async (reference, other) => {
  const before = await payments.balance()
  const [first, again] = [await book(arrival(reference)), await book(arrival(other))]
  expect(again).toEqual(first)
  expect(first.outcome).toBe('credited')
  expect(await payments.balance()).toBe(before + 7.5)
})

it('a reference that differs in its case alone is an exception, which a person may credit', async () => {
  const before = await payments.balance()
  const first = await book(arrival('5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnb'))
  const other = await book(arrival('5verv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnb'))
  expect([first.outcome, other.outcome]).toEqual(['credited', 'exception'])
  expect(await payments.balance()).toBe(before + 7.5)
  await payments.resolve(other.id, 'apply')
  expect(await payments.balance()).toBe(before + 15)
  await expectSoundLedger(context)
})

it.each(['', ' 0xc1', '0xc1\n', '0xc1\u0007', 'x'.repeat(256), 5 as never])(
  'the reference %j is refused',
  async (reference) => {
    await expect(book(arrival(reference))).rejects.toMatchObject({
      code: 'missing_field',
      issues: [{ field: 'reference' }],
    })
  },
)
