import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction } from '../context.ts'
import { listReceivables } from '../ledger/receivables.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

const database = await testDatabase({ role: 'ordinary' })
const funds = [{ valueType: 'USDC', transferType: 'base', amount: '1000' }]
let a: TestSandbox
let b: TestSandbox
let payer: TestPayments
beforeAll(async () => {
  a = await testSandbox(database.url, funds)
  payer = testPayments(a)
  b = await testSandbox(database.url)
})
afterAll(() => Promise.all([a.stop(), b.stop()]))

/** A complete payment of 100 USDC from the wallet of A to a wallet, as USDC or as another token of its peg. */
const pay = async (addressId: string, valueType: string, transferType = 'base') => {
  const source = { address_id: a.walletId, value_type: 'USDC', transfer_type: 'base' }
  const destination = { address_id: addressId, value_type: valueType, transfer_type: transferType }
  const body = { amount: { value: '100', currency: 'USDC' }, source, destination }
  const { body: created } = await a.call<TransferResource>('POST', `/accounts/${a.accountId}/transfers`, { body })
  await payer.reaches(created.id, 'processing')
  await a.call('POST', `/simulations/transfers/${created.id}/settle`, { body: {} })
  return await payer.reaches(created.id, 'complete')
}
const giveBack = async (transfer: TransferResource, value: string, returnReference = 'r') => {
  const amount = { value, currency: 'USDC' }
  await applyFacts(a.sandbox.service.context)([await payer.factOf(transfer, 'returned', { amount, returnReference })])
}
const addPayee = async () => {
  const { body: wallet } = await b.call<{ address: string }>('GET', `/accounts/${b.accountId}/addresses/${b.walletId}`)
  const body = { name: 'B', address: wallet.address, transfer_types: ['base'] }
  return (await a.call<{ id: string }>('POST', `/accounts/${a.accountId}/addresses/external`, { body })).body.id
}
const owed = () => inTransaction(a.sandbox.service.context, (tx) => listReceivables(tx, a.sandbox.service.context))
/** What wallets of A have on one chain, as far as nothing holds it. */
const availableOf = async (addressId: string, valueType: string, transferType: string) => {
  const { pool, schema } = a.sandbox.service.context
  const { rows } = await inspect(pool).query(
    `select available::float8 from ${schema}.ledger_account
      where kind = 'custodial' and address_id = $1 and value_type = $2 and transfer_type = $3`,
    [addressId, valueType, transferType],
  )
  return Number(rows[0]?.available ?? 0)
}
const spend = (valueType: string, transferType: string, amount: string) => {
  const line = { value: valueType, rail: transferType, bucket: 'available' }
  const lines = [
    { ...line, kind: 'custodial', account: a.accountId, address: a.walletId, amount: `-${amount}` },
    { ...line, kind: 'outside', account: '', address: '', amount },
  ]
  const { context } = a.sandbox.service
  return inTransaction(context, (tx) =>
    tx.query(`select ${context.schema}.ledger_apply($1, 'deposit', $2::jsonb)`, [
      `spent ${valueType} ${transferType}`,
      JSON.stringify(lines),
    ]),
  )
}

it.each(['USDC', 'SBC'])(
  'a payment in %s to a wallet of another client is never taken from it, and its payer may send',
  async (valueType) => {
    const payee = testPayments(b)
    const to = await addPayee()
    const transfer = await pay(to, valueType)
    const [before, own] = [await payee.balance(), await payer.balance()]

    const answer = await a.call('POST', `/simulations/transfers/${transfer.id}/return`, { body: { code: 'R01' } })
    expect([answer.status, answer.body['code']]).toEqual([409, 'conflict'])

    // Rails of a deployer could report it all the same.
    await giveBack(transfer, '100')
    expect((await payer.read(transfer.id)).returns).toHaveLength(1)
    expect([await payee.balance(), await payer.balance(), await owed()]).toEqual([before, own, []])
    await pay(to, 'USDC')
    await expectSoundLedger(a.sandbox.service.context)
  },
)

it('a move between wallets of the account is reversed as far as it is not spent, and nothing is owed', async () => {
  const transfer = await pay(a.walletId, 'SBC')
  const before = await payer.balance()
  await spend('SBC', 'base', '70')
  await giveBack(transfer, '20', 'first')
  expect([await payer.balance(), await availableOf(a.walletId, 'SBC', 'base')]).toEqual([before + 20, 10])
  await giveBack(transfer, '80', 'rest')
  expect([await payer.balance(), await availableOf(a.walletId, 'SBC', 'base')]).toEqual([before + 30, 0])
  expect((await payer.read(transfer.id)).returns?.map(({ amount }) => amount.value)).toEqual(['20', '80'])
  expect(await owed()).toEqual([])
  await expectSoundLedger(a.sandbox.service.context)
})
