import { readFileSync } from 'node:fs'
import { describeGateway } from '@outlay/testing/conformance'
import { expect, test } from 'vitest'
import { startNorthbank } from './provider.ts'
import { bankGateway } from './smallest.ts'

const payout = (value: string, addressId = 'payee_1') => ({
  amount: { value, currency: 'USD' },
  source: { addressId: 'operating', valueType: 'USDC', transferType: 'base' },
  destination: { addressId, valueType: 'USD', transferType: 'ach_credit' },
})

const request = (value: string) => ({
  ...{ transferId: 't', accountId: 'acme', idempotencyKey: 'k', attempt: 1 },
  request: payout(value),
})

describeGateway('of the guide', async (through) => {
  const bank = await startNorthbank({ apiKey: 'a secret', webhookKey: 'unused', balance: 1_000_000 })
  return {
    gateway: bankGateway({ baseUrl: await through(bank.url), apiKey: 'a secret' }),
    accountId: 'acme',
    request: () => payout('10.5'),
    countPayments: () => bank.books.payments.length,
    refused: () => payout('10.25', 'nobody'),
    unfunded: () => payout('90000'),
    fund: () => {
      bank.books.balance += 10_000_000
    },
    complete: (id) => bank.end(id, 'settled'),
    fail: (id) => bank.end(id, 'returned'),
    secrets: ['a secret'],
    close: () => bank[Symbol.asyncDispose](),
  }
})

test('it sends the amount in cents', async () => {
  await using bank = await startNorthbank({ apiKey: 'a', webhookKey: 'unused', balance: 1_000_000 })
  const gateway = bankGateway({ baseUrl: bank.url, apiKey: 'a' })
  for (const [index, value] of ['7', '7.5', '7.05'].entries()) {
    await gateway.submit({ ...request(value), idempotencyKey: `k${index}` }, { signal: AbortSignal.timeout(60_000) })
  }
  expect(bank.books.payments.map(({ amount_cents }) => amount_cents)).toEqual([700, 750, 705])
})

test('it says that nobody answers, and that the key of the API is wrong', async () => {
  const bank = await startNorthbank({ apiKey: 'a', webhookKey: 'unused', balance: 0 })
  const submit = (apiKey: string) =>
    bankGateway({ baseUrl: bank.url, apiKey }).submit(request('1'), { signal: AbortSignal.timeout(60_000) })
  expect(await submit('b')).toMatchObject({ outcome: 'unauthorized', detail: 'Who are you?' })
  await bank[Symbol.asyncDispose]()
  expect(await submit('a')).toMatchObject({ outcome: 'throttled', obstacle: 'unreachable' })
})

test('the guide prints it as it is', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
  expect(read('../../../docs/guides/connecting-a-provider.md')).toContain(`\`\`\`ts\n${read('smallest.ts')}\`\`\`\n`)
})
