import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '100000' }])
})
afterAll(() => api.stop())

it('a payout that gets the reference of another one is an exception, once, and cannot be applied', async () => {
  const payments = testPayments(api)
  const first = await payments.payout()
  const { context } = api.sandbox.service
  const reference = (await context.engine.transfers.get(first.id))?.remoteId ?? ''
  const { submit } = context.rails
  Object.assign(context.rails, { submit: async () => ({ outcome: 'accepted', reference }) })
  const { body: second } = await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/transfers`, {
    body: {
      amount: { value: '5', currency: 'USDC' },
      source: { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' },
      destination: { address_id: first.destination.address_id, value_type: 'USDC', transfer_type: 'base' },
    },
  })
  const [exception] = await vi.waitFor(
    async () => {
      const found = await payments.exceptions({ transferId: second.id })
      expect(found).toMatchObject([{ kind: 'accepted', reason: 'reference_reused', accountId: api.accountId }])
      return found
    },
    { timeout: 60_000 },
  )
  Object.assign(context.rails, { submit })
  await expect(payments.resolve(exception?.id ?? '', 'apply')).rejects.toMatchObject({ code: 'conflict' })
  await payments.resolve(exception?.id ?? '', 'dismiss')
  expect((await payments.read(first.id)).status).toBe('processing')
})
