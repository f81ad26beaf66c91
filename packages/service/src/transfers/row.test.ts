import { expect, it } from 'vitest'
import { readTransfer, type TransferRow } from './row.ts'

const at = new Date('2026-11-18T15:00:00Z')
const transfer: TransferRow = {
  id: '01KA0000000000000000000000',
  account_id: '01KA0000000000000000000001',
  status: 'pending',
  failure: null,
  flow: 'payout',
  amount_value: '12.30',
  amount_currency: 'USDC',
  source_address_id: '01KA0000000000000000000002',
  source_financial_institution_id: null,
  source_value_type: 'USDC',
  source_transfer_type: 'base',
  source_transaction_id: null,
  source_payment_details: null,
  destination_address_id: '01KA0000000000000000000003',
  destination_value_type: 'USDC',
  destination_transfer_type: 'base',
  destination_transaction_id: null,
  destination_payment_details: null,
  wire_memo: null,
  wire_instructions: null,
  brand_account_id: null,
  automation_id: null,
  note: null,
  plan: { post: [], void: [] },
  reference_legs: 'both',
  reference: null,
  created_at: at,
  expires_at: null,
  quote: null,
  updated_at: at,
  returns: null,
}

it('a row is read as it is, without columns of a later release', () => {
  expect(readTransfer({ ...transfer, purpose: 'rent' })).toStrictEqual(transfer)
})

it.each([
  ['amount_value', 12.3, 'a number in the column "amount_value", not text'],
  ['amount_value', null, 'null in the column "amount_value", not text'],
  ['plan', '{"post":[],"void":[]}', 'text in the column "plan", not parsed JSON'],
  ['created_at', '2026-11-18 15:00:00+00', 'text in the column "created_at", not a Date'],
])('a driver that gives %s as %j is refused', (name, value, refusal) => {
  expect(() => readTransfer({ ...transfer, [name]: value })).toThrow(`The transfer row has ${refusal}.`)
})
