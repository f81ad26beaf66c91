import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { turnBack } from '../../test/earlier-release.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { onboardDue } from '../accounts/onboarding.ts'
import type { AddressResource } from '../addresses/view.ts'
import type { TransferResource } from '../transfers/view.ts'

// A database that an earlier release has written, migrated to this one: what was under way continues.

const database = await testDatabase({ role: 'ordinary' })
const schema = 'outlay_service'
const patience = { timeout: 60_000, interval: 50 }
let api: TestSandbox
let payments: TestPayments
const before: Record<'underpaid' | 'paid' | 'canceled' | 'payout' | 'debit', TransferResource> = {} as never
let balance = 0

const advance = (seconds: number) => api.call('POST', '/simulations/clock/advance', { body: { seconds } })
const arrive = (transfer_id: string, amount: string) =>
  api.call('POST', '/simulations/wires', { body: { transfer_id, amount } })

beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '50000' }])
  payments = testPayments(api)
  before.underpaid = await payments.wireOnramp('100.00')
  before.paid = await payments.wireOnramp('70.00')
  before.canceled = await payments.wireOnramp('30.00')
  before.payout = await payments.payout()
  before.debit = await createBouncedDebit()
  balance = await payments.balance()
  await api.call('POST', `/simulations/accounts/${api.otherAccountId}/status`, { body: { status: 'pending' } })
  await api.restart(async () => {
    const pool = new Pool({ connectionString: database.url, max: 1 })
    await turnBack(pool, schema)
    // Its payments did not say in which currency they are.
    await forgetCurrencies(pool)
    // The wallets of that release had addresses of their own.
    await inspect(pool).query(
      `update ${schema}.address set address = 'w' || address, address_normal = 'w' || address_normal where account_id = $1`,
      [api.otherAccountId],
    )
    await pool.end()
  })
  payments = testPayments(api)
})
afterAll(() => api.stop())

it('a wire that was awaited before is held when it is underpaid', async () => {
  await arrive(before.underpaid.id, '60.00')
  await vi.waitFor(async () => {
    await advance(3_600)
    expect(await payments.exceptions({ transferId: before.underpaid.id })).toMatchObject([
      { kind: 'accepted', reason: 'amount_mismatch' },
      { kind: 'settled', reason: 'amount_mismatch' },
    ])
  }, patience)
  const { remoteId } = (await api.sandbox.service.context.engine.transfers.get(before.underpaid.id)) ?? {}
  expect(remoteId).toEqual(expect.any(String))
  // A while, in which the engine polls the rail.
  const polled = await countPolls(before.underpaid.id)
  await vi.waitFor(async () => {
    await advance(3_600)
    expect(await countPolls(before.underpaid.id)).toBeGreaterThan(polled)
  }, patience)
  expect((await payments.read(before.underpaid.id)).status).toBe('pending')
  expect(await payments.balance()).toBe(balance)
})

it('a wire that was awaited before is credited when it is paid in full', async () => {
  await arrive(before.paid.id, '70.00')
  await payments.reaches(before.paid.id, 'processing')
  await advance(3_600)
  await payments.reaches(before.paid.id, 'complete')
  expect(await payments.balance()).toBe(balance + 70)
})

it('a wire that was awaited before is canceled', async () => {
  const path = `/accounts/${api.accountId}/transfers/${before.canceled.id}/cancel`
  expect((await api.call('POST', path)).status).toBe(200)
  await payments.reaches(before.canceled.id, 'canceled')
})

it('a debit that waited for its second presentment completes, by its facts', async () => {
  await vi.waitFor(async () => {
    await advance(6 * 3_600)
    expect((await payments.read(before.debit.id)).status).toBe('complete')
  }, patience)
  expect(await payments.exceptions()).not.toContainEqual(expect.objectContaining({ reason: 'unreadable' }))
})

it('a payment that a process of the earlier release writes after the migration has readable facts', async () => {
  const transfer = await payments.wireOnramp('20.00')
  await forgetCurrencies(api.sandbox.service.context.pool)
  await arrive(transfer.id, '20.00')
  await payments.reaches(transfer.id, 'processing')
  await advance(3_600)
  await payments.reaches(transfer.id, 'complete')
  expect(await payments.exceptions()).not.toContainEqual(expect.objectContaining({ reason: 'unreadable' }))
})

it('a payout that was under way is in progress, and the ledger is sound', async () => {
  expect(await payments.read(before.payout.id)).toEqual(before.payout)
  await expectSoundLedger(api.sandbox.service.context)
})

it('an account that was pending gets wallets of the custodian once it is complete', async () => {
  const { service } = api.sandbox
  await api.call('POST', `/simulations/accounts/${api.otherAccountId}/status`, { body: { status: 'complete' } })
  await onboardDue(service.context)
  const { body } = await api.call<{ addresses: readonly AddressResource[] }>(
    'GET',
    `/accounts/${api.otherAccountId}/addresses`,
  )
  expect(body.addresses.map(({ status }) => status).toSorted()).toEqual([
    ...Array(5).fill('active'),
    ...Array(5).fill('pending'),
  ])
})

async function createBouncedDebit(): Promise<TransferResource> {
  const path = `/accounts/${api.accountId}`
  const body = { ...sampleBankAddress, account_number: '445566770101', transfer_types: ['ach_debit'] }
  const { id } = (await api.call<{ id: string }>('POST', `${path}/addresses/external`, { body })).body
  const source = { address_id: id, value_type: 'USD', transfer_type: 'ach_debit' }
  const destination = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const amount = { value: '50', currency: 'USD' }
  const { body: transfer } = await api.call<TransferResource>('POST', `${path}/transfers`, {
    body: { amount, source, destination },
  })
  return await vi.waitFor(async () => {
    await advance(6 * 3_600)
    const bounced = await payments.read(transfer.id)
    expect(bounced).toMatchObject({ status: 'failed', failure: { retriable: true } })
    return bounced
  }, patience)
}

function forgetCurrencies(pool: Pool) {
  return inspect(pool).query(`update ${schema}.rail_payment set route = route - 'currency'`)
}

async function countPolls(transferId: string): Promise<number> {
  const { rows } = await api.sandbox.service.context.pool.query(
    `select polls from ${schema}_engine.transfer where id = $1`,
    [transferId],
  )
  return Number(rows[0]?.polls)
}
