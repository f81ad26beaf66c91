import { payInvoice } from './payout.mjs'

test('an invoice is paid', async () => {
  expect(await payInvoice(process.env.INVOICE)).toBe('transfer.completed')
}, 60_000)
