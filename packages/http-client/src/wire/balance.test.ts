import { expect, test } from 'vitest'
import { decodeBalance } from './balance.ts'
import { parseJson } from './json.ts'

test.each([
  [
    '{"address": {"id": "a", "address": "0x1"}, "balance": {"value": "5.1", "currency": "USDC"}, "available": {"value": "4", "currency": "usdc"}, "value_type": "USDC", "transfer_type": "base"}',
    '4',
  ],
  [
    '{"address_id": "a", "address": "0x1", "balance": "5.1", "available": 4, "value_type": "usdc", "transfer_type": "Base"}',
    '4',
  ],
  ['{"addressId": "a", "address": "0x1", "amount": {"value": 5.1, "currency": "USDC"}, "transferType": "base"}', '5.1'],
])('a balance is read in every shape (%#)', (text, available) => {
  expect(decodeBalance(parseJson(text))).toEqual({
    address: { id: 'a', address: '0x1' },
    balance: { value: '5.1', currency: 'USDC' },
    available: { value: available, currency: 'USDC' },
    valueType: 'USDC',
    transferType: 'base',
  })
})
