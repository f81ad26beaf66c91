import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import type { RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
let report: RailFactListener
beforeAll(async () => {
  api = await testSandbox(database.url)
  payments = testPayments(api)
  context = api.sandbox.service.context
  report = applyFacts(context)
})
afterAll(() => api.stop())

const usd = (value: string) => ({ value, currency: 'USD' })
const arrive = (transfer_id: string, amount?: string) =>
  api.call('POST', '/simulations/wires', { body: { transfer_id, amount } })
const advance = (seconds: number) => api.call('POST', '/simulations/clock/advance', { body: { seconds } })
const settlement = async () => {
  const { rows } = await inspect(context.pool).query(
    `select coalesce(sum(entries_available), 0) as usd from ${context.schema}.ledger_balance
      where kind = 'settlement' and value_type = 'USD'`,
  )
  return Number(rows[0]?.usd)
}
const resolve = (id: string | undefined, action: 'apply' | 'dismiss') =>
  inTransaction(context, (tx) => resolveRailException(tx, context, id ?? '', { action, by: 'ops@example.com' }))
describe('a wire of the amount that was asked for', () => {
  it('is credited, and polls agree only once its arrival was applied', async () => {
    const before = await payments.balance()
    const transfer = await payments.wireOnramp('100.00')
    await arrive(transfer.id, '100')
    await payments.reaches(transfer.id, 'processing')
    expect(await payments.poll(transfer.id)).toBe('processing')
    await advance(60)
    await payments.reaches(transfer.id, 'complete')
    expect(await payments.balance()).toBe(before + 100)
    expect(await payments.exceptions()).toEqual([])
  })
})

describe.each([
  ['less', '90.00', 90],
  ['more', '110.00', 110],
])('a wire of %s than was asked for', (_, amount, received) => {
  it('mints nothing, neither by its facts nor by a poll, until a person credits what arrived', async () => {
    const [before, dollars] = [await payments.balance(), await settlement()]
    const transfer = await payments.wireOnramp('100.00')
    await arrive(transfer.id, amount)
    await advance(60)
    expect(await payments.poll(transfer.id)).toBe('pending')
    expect((await payments.read(transfer.id)).status).toBe('pending')
    expect([await payments.balance(), await settlement()]).toEqual([before, dollars + received])
    const exceptions = await payments.exceptions({ transferId: transfer.id })
    expect(exceptions).toMatchObject([
      { kind: 'accepted', rail: 'wire', reason: 'amount_mismatch', amount: usd(amount) },
      { kind: 'settled', reason: 'amount_mismatch' },
    ])
    await resolve(exceptions[0]?.id, 'apply')
    const complete = await payments.reaches(transfer.id, 'complete')
    expect(complete.amount).toEqual(usd(amount))
    expect(complete.destination.transaction_id).toMatch(/^0x/)
    expect([await payments.balance(), await settlement()]).toEqual([before + received, dollars + received])
    expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
    await expectSoundLedger(context)
  })

  it('is credited as received by the policy that says so', async () => {
    const before = await payments.balance()
    const transfer = await payments.wireOnramp('100.00')
    const crediting = applyFacts({ ...context, amountPolicy: 'credit_received' })
    await crediting([await payments.factOf(transfer, 'accepted', { amount: usd(amount) })])
    await payments.reaches(transfer.id, 'processing')
    await crediting([await payments.factOf(transfer, 'settled', { amount: usd(amount) })])
    expect((await payments.reaches(transfer.id, 'complete')).amount).toEqual(usd(amount))
    expect(await payments.balance()).toBe(before + received)
    expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
    await expectSoundLedger(context)
  })

  it('is credited as received by that policy, also where its arrival and its settlement come together', async () => {
    const before = await payments.balance()
    const transfer = await payments.wireOnramp('100.00')
    const { transfers } = context.engine
    const get: typeof transfers.get = async (...given) => {
      const found = await transfers.get(...given)
      // What the engine has ended is posted before the facts are applied again.
      if (found?.status === 'complete') await payments.reaches(transfer.id, 'complete')
      return found
    }
    const engine = { ...context.engine, transfers: { ...transfers, get } }
    const crediting = applyFacts({ ...context, engine, amountPolicy: 'credit_received' })
    const of = (kind: 'accepted' | 'settled') => payments.factOf(transfer, kind, { amount: usd(amount) })
    await crediting([await of('accepted'), await of('settled')])
    expect((await payments.reaches(transfer.id, 'complete')).amount).toEqual(usd(amount))
    expect(await payments.balance()).toBe(before + received)
    expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
    await expectSoundLedger(context)
  })
})

it('a wire that is held leaves the settlement account when a person dismisses it, and its transfer fails when it goes back', async () => {
  const [before, dollars] = [await payments.balance(), await settlement()]
  const transfer = await payments.wireOnramp('100.00')
  await report([await payments.factOf(transfer, 'accepted', { amount: usd('40.00') })])
  expect(await settlement()).toBe(dollars + 40)
  await report([await payments.factOf(transfer, 'returned', { amount: usd('40.00') })])
  await payments.reaches(transfer.id, 'failed')
  const [exception] = await payments.exceptions({ transferId: transfer.id })
  await resolve(exception?.id, 'dismiss')
  expect([await payments.balance(), await settlement()]).toEqual([before, dollars])
  await expectSoundLedger(context)
})

it('a wire that comes before the engine submits its transfer is held, too', async () => {
  const before = await payments.balance()
  const source = { value_type: 'USD', transfer_type: 'wire' }
  const destination = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const { submit } = context.rails
  const arrived = Promise.withResolvers<void>()
  Object.assign(context.rails, {
    submit: async (...given: Parameters<typeof submit>) => {
      await arrived.promise
      return await submit(...given)
    },
  })
  const { body: transfer } = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, {
    body: { amount: usd('100.00'), source, destination },
  })
  await arrive(transfer.id, '90.00')
  await advance(60)
  arrived.resolve()
  Object.assign(context.rails, { submit })
  const exceptions = await vi.waitFor(
    async () => {
      await advance(60)
      const found = await payments.exceptions({ transferId: transfer.id })
      expect(found).toMatchObject([{ kind: 'accepted' }, { kind: 'settled' }])
      return found
    },
    { timeout: 60_000 },
  )
  await payments.factOf(transfer, 'accepted')
  expect(await payments.poll(transfer.id)).toBe('pending')
  expect((await payments.read(transfer.id)).status).toBe('pending')
  await resolve(exceptions[0]?.id, 'apply')
  await payments.reaches(transfer.id, 'complete')
  expect(await payments.balance()).toBe(before + 90)
})

it('a wire whose submission stored nothing, as by a process of an earlier release, is held, too', async () => {
  const before = await payments.balance()
  const transfer = await payments.wireOnramp('100.00')
  await inspect(context.pool).query(
    `delete from ${context.schema}.rail_fact where transfer_id = $1 and kind = 'expected'`,
    [transfer.id],
  )
  await arrive(transfer.id, '60.00')
  await advance(60)
  expect(await payments.poll(transfer.id)).toBe('pending')
  expect((await payments.read(transfer.id)).status).toBe('pending')
  expect(await payments.balance()).toBe(before)
  const [exception] = await payments.exceptions({ transferId: transfer.id })
  await resolve(exception?.id, 'apply')
  expect((await payments.reaches(transfer.id, 'complete')).amount).toEqual(usd('60.00'))
  expect(await payments.balance()).toBe(before + 60)
})

it('a wire finer than its currency is held by either policy', async () => {
  const transfer = await payments.wireOnramp('100.00')
  const crediting = applyFacts({ ...context, amountPolicy: 'credit_received' })
  await crediting([await payments.factOf(transfer, 'accepted', { amount: usd('99.999') })])
  expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([{ reason: 'amount_mismatch' }])
})

it('a mint of another amount than the wire is an exception by either policy', async () => {
  const before = await payments.balance()
  const transfer = await payments.wireOnramp('100.00')
  const crediting = applyFacts({ ...context, amountPolicy: 'credit_received' })
  await crediting([await payments.factOf(transfer, 'accepted', { amount: usd('90.00') })])
  await payments.reaches(transfer.id, 'processing')
  await crediting([await payments.factOf(transfer, 'settled', { amount: usd('100.00') })])
  expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([
    { kind: 'settled', reason: 'amount_mismatch' },
  ])
  expect(await payments.balance()).toBe(before)
})
