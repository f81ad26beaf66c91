import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { payInvoice } from './payout.mjs'

test('an invoice is paid', async () => {
  equal(await payInvoice(process.env.INVOICE), 'transfer.completed')
})
