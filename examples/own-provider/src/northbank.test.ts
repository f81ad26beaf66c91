import { describeGateway } from '@outlay/testing/conformance'
import { northbankGateway } from './northbank.ts'
import { startNorthbank } from './provider.ts'

const payout = (value: string, addressId = 'payee_1') => ({
  amount: { value, currency: 'USD' },
  source: { addressId: 'operating', valueType: 'USDC', transferType: 'base' },
  destination: { addressId, valueType: 'USD', transferType: 'ach_credit' },
})

describeGateway('northbank', async (through) => {
  const bank = await startNorthbank({ apiKey: 'a secret', webhookKey: 'unused', balance: 1_000_000 })
  return {
    gateway: northbankGateway({ baseUrl: await through(bank.url), apiKey: 'a secret' }),
    accountId: 'acme',
    request: () => payout('10.25'),
    countPayments: () => bank.books.payments.length,
    refused: () => payout('10.25', 'nobody'),
    unfunded: () => payout('90000.00'),
    fund: () => {
      bank.books.balance += 10_000_000
    },
    complete: (id) => bank.end(id, 'settled'),
    fail: (id) => bank.end(id, 'returned'),
    giveBack: (id) => bank.end(id, 'returned'),
    secrets: ['a secret'],
    close: () => bank[Symbol.asyncDispose](),
  }
})
