import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testPayments } from '../../test/payments.ts'
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
beforeAll(async () => {
  a = await testSandbox(database.url, funds)
  b = await testSandbox(database.url)
})
afterAll(() => Promise.all([a.stop(), b.stop()]))

it.each(['USDC', 'SBC'])('a payment in %s to a wallet of another client is never taken from it', async (valueType) => {
  const [payer, payee] = [testPayments(a), testPayments(b)]
  const { context } = a.sandbox.service
  const path = `/accounts/${a.accountId}`
  const { body: wallet } = await b.call<{ address: string }>('GET', `/accounts/${b.accountId}/addresses/${b.walletId}`)
  const external = { name: 'B', address: wallet.address, transfer_types: ['base'] }
  const { body: to } = await a.call<{ id: string }>('POST', `${path}/addresses/external`, { body: external })
  const source = { address_id: a.walletId, value_type: 'USDC', transfer_type: 'base' }
  const body = {
    ...{ amount: { value: '100', currency: 'USDC' }, source },
    destination: { address_id: to.id, value_type: valueType, transfer_type: 'base' },
  }
  const { body: created } = await a.call<TransferResource>('POST', `${path}/transfers`, { body })
  await payer.reaches(created.id, 'processing')
  await a.call('POST', `/simulations/transfers/${created.id}/settle`, { body: {} })
  const transfer = await payer.reaches(created.id, 'complete')
  const before = await payee.balance()

  const answer = await a.call('POST', `/simulations/transfers/${transfer.id}/return`, { body: { code: 'R01' } })
  expect([answer.status, answer.body['code']]).toEqual([409, 'conflict'])

  // Rails of a deployer could report it all the same.
  await applyFacts(context)([await payer.factOf(transfer, 'returned', { amount: { value: '100', currency: 'USDC' } })])
  expect((await payer.read(transfer.id)).returns).toHaveLength(1)
  expect(await payee.balance()).toBe(before)
  const owed = await inTransaction(context, (tx) => listReceivables(tx, context))
  expect(owed.filter(({ accountId }) => accountId !== a.accountId)).toEqual([])
  expect(owed.filter(({ amount }) => amount.currency === valueType)).toMatchObject([{ amount: { value: '100' } }])
  await inTransaction(context, (tx) =>
    tx.query(`update ${context.schema}.receivable set blocks_sends = false where account_id = $1`, [a.accountId]),
  )
  await expectSoundLedger(context)
})
