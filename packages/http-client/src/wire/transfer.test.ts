import { OutlayError } from '@outlay/core'
import { expect, test } from 'vitest'
import { parseJson } from './json.ts'
import { decodeTransfer, encodeTransferRequest, observe } from './transfer.ts'

const base = {
  id: '01BX5ZZKBKACTAV9WEVGEMMVRZ',
  status: 'complete',
  failure: null,
  amount: { value: '100.10', currency: 'USD' },
  source: { value_type: 'USD', transfer_type: 'wire' },
  destination: { address_id: '01BX5ZZKBKACTAV9WEVGEMMVS1', value_type: 'SBC', transfer_type: 'base' },
  note: null,
  created_at: '2026-01-02T03:04:05.678901Z',
  updated_at: '2026-01-02T03:05:05.678901Z',
}

const code = (run: () => unknown): string => {
  try {
    run()
    return 'accepted'
  } catch (error) {
    if (OutlayError.is(error)) return `${error.code} ${error.field}`
    throw error
  }
}

test('a complete wire-funded transfer is read', () => {
  const text = `{
    "id": "t", "status": "pending", "failure": null, "amount": {"value": "100.10", "currency": "usd"},
    "source": {
      "value_type": "USD", "transfer_type": "wire", "financial_institution_id": "fi",
      "payment_details": {
        "received_at": "2026-01-02T03:04:05Z", "sender_name": "Ada", "sender_bank_name": null,
        "sender_bank_routing_number": 21000021, "imad": "20260102MMQFMP9C000123", "unheard_of": true
      }
    },
    "destination": {"address_id": "a", "value_type": "sbc", "transfer_type": "Base", "transaction_id": "0xabc",
      "payment_details": {"imad": null}},
    "note": "hello", "created_at": "2026-01-02T03:04:05.678901Z", "updated_at": "2026-01-02T04:04:05+01:00",
    "automation_id": "auto",
    "wire_instructions": {
      "beneficiary_name": "Acme", "bank_name": "Bank", "bank_address": "1 Main St", "account_number": "123456",
      "routing_number": 21000021, "beneficiary_address": "2 Main St", "memo": null
    }
  }`
  expect(decodeTransfer(parseJson(text))).toEqual({
    id: 't',
    status: 'pending',
    failure: null,
    amount: { value: '100.10', currency: 'USD' },
    source: {
      valueType: 'USD',
      transferType: 'wire',
      financialInstitutionId: 'fi',
      paymentDetails: {
        receivedAt: '2026-01-02T03:04:05Z',
        senderName: 'Ada',
        senderBankName: null,
        senderBankRoutingNumber: '021000021',
        imad: '20260102MMQFMP9C000123',
      },
    },
    destination: {
      addressId: 'a',
      valueType: 'SBC',
      transferType: 'base',
      transactionId: '0xabc',
      paymentDetails: { imad: null },
    },
    note: 'hello',
    createdAt: '2026-01-02T03:04:05.678901Z',
    updatedAt: '2026-01-02T03:04:05.000Z',
    automationId: 'auto',
    wireInstructions: {
      beneficiaryName: 'Acme',
      bankName: 'Bank',
      bankAddress: '1 Main St',
      accountNumber: '123456',
      routingNumber: '021000021',
      beneficiaryAddress: '2 Main St',
      memo: null,
    },
  })
})

test('the camel case spelling is read as the snake case one', () => {
  const { created_at: createdAt, updated_at: updatedAt, ...rest } = base
  const camel = {
    ...rest,
    createdAt,
    updatedAt,
    source: { addressId: 'a', valueType: 'USD', transferType: 'wire', transactionId: 'ref' },
    destination: { addressId: 'b', valueType: 'SBC', transferType: 'base' },
  }
  expect(decodeTransfer(camel)).toMatchObject({
    source: { addressId: 'a', valueType: 'USD', transferType: 'wire', transactionId: 'ref' },
    destination: { addressId: 'b' },
    createdAt,
    updatedAt,
  })
})

test.each([
  ['usd', 'USD', 'Polygon', 'polygon'],
  ['Usdc', 'USDC', 'POLYGON', 'polygon'],
  ['uSdC', 'USDC', 'pOlYgOn', 'polygon'],
  ['EURX', 'EURX', 'rtp_credit', 'rtp'],
  ['eurX', 'eurX', 'newChain', 'newChain'],
])('%s becomes %s, and %s becomes %s', (valueType, canonicalValue, transferType, canonicalTransfer) => {
  const transfer = decodeTransfer({ ...base, source: { value_type: valueType, transfer_type: transferType } })
  expect(transfer.source).toMatchObject({ valueType: canonicalValue, transferType: canonicalTransfer })
})

test.each([
  ['PENDING', 'pending'],
  ['Completed', 'complete'],
  ['cancelled', 'canceled'],
  ['canceled', 'canceled'],
])('status %s is %s', (given, canonical) => {
  expect(decodeTransfer({ ...base, status: given }).status).toBe(canonical)
})

test('the JSON of the service is reachable but not enumerable', () => {
  const sent = { ...base, unheard_of: 1 }
  const transfer = decodeTransfer(sent)
  expect(transfer.raw).toBe(sent)
  expect(Object.keys(transfer)).not.toContain('raw')
  expect(JSON.stringify(transfer)).not.toContain('unheard_of')
})

test.each([
  ['"value": 100.10', '100.10'],
  ['"value": 0.1', '0.1'],
  ['"value": 9007199254740993', '9007199254740993'],
  ['"value" : 1250.123456789012345678', '1250.123456789012345678'],
])('an amount that is the number %s keeps its very digits', (member, digits) => {
  const text = JSON.stringify(base).replace('"value":"100.10"', member)
  expect(decodeTransfer(parseJson(text)).amount.value).toBe(digits)
})

test.each(['1e3', '-5', '1.5E2', '"1,000"', '"1e3"', '" 5"', 'null', 'true', '""'])(
  'an amount %s is unreadable',
  (value) => {
    const text = JSON.stringify(base).replace('"100.10"', value)
    expect(code(() => decodeTransfer(parseJson(text)))).toBe('unreadable_response amount.value')
  },
)

test.each([
  [{ ...base, id: undefined }, 'id'],
  [{ ...base, status: 'unheard of' }, 'status'],
  [{ ...base, source: null }, 'source'],
  [{ ...base, destination: { value_type: 'USD' } }, 'destination.transfer_type'],
  [{ ...base, created_at: 'yesterday' }, 'created_at'],
  [[base], ''],
])('what cannot be read names its member, and shows no value (%#)', (value, field) => {
  expect(code(() => decodeTransfer(value))).toBe(`unreadable_response ${field}`)
})

test('a failed transfer without a reason still has a failure', () => {
  expect(decodeTransfer({ ...base, status: 'failed' }).failure).toMatchObject({ code: 'unknown', retriable: false })
})

test('a create leaves out what is absent and sends nothing that is response only', () => {
  const request = {
    amount: { value: '1.00', currency: 'USD' },
    source: { valueType: 'USD', transferType: 'wire' },
    destination: { addressId: 'a', valueType: 'SBC', transferType: 'base' },
    brand: { accountId: 'b' },
  }
  expect(JSON.stringify(encodeTransferRequest(request))).toBe(
    '{"amount":{"value":"1.00","currency":"USD"},"source":{"value_type":"USD","transfer_type":"wire"},' +
      '"destination":{"address_id":"a","value_type":"SBC","transfer_type":"base"},"brand":{"account_id":"b"}}',
  )
})

test('what came back of a complete transfer is read', () => {
  const returns = [
    { code: 'R10', amount: { value: '40.10', currency: 'usd' }, occurred_at: '2026-01-09T10:00:00+01:00' },
    { code: 'R01', amount: { value: '60', currency: 'USD' }, occurred_at: '2026-01-10T10:00:00Z', unheard_of: 1 },
  ]
  const transfer = decodeTransfer({ ...base, returns })
  expect(transfer.status).toBe('complete')
  expect(transfer.returns).toEqual([
    { code: 'R10', amount: { value: '40.10', currency: 'USD' }, occurredAt: '2026-01-09T09:00:00.000Z' },
    { code: 'R01', amount: { value: '60', currency: 'USD' }, occurredAt: '2026-01-10T10:00:00Z' },
  ])
  expect(observe(transfer).returns).toEqual(transfer.returns)
})

test.each([
  [[{ code: 7, amount: { value: -1, currency: 'USD' } }], { code: '7', amount: null, occurredAt: null }],
  [[{ amount: '5.00', occurredAt: 'yesterday' }], { code: 'unknown', amount: null, occurredAt: null }],
  [
    { code: 'R02', occurredAt: '2026-01-10T10:00:00Z' },
    { code: 'R02', amount: null, occurredAt: '2026-01-10T10:00:00Z' },
  ],
  [['R03'], { code: 'R03', amount: null, occurredAt: null }],
  [[null], { code: 'unknown', amount: null, occurredAt: null }],
])('a return that cannot be read whole is neither lost nor hides its transfer: %j', (returns, read) => {
  expect(decodeTransfer({ ...base, returns }).returns).toEqual([read])
})

test.each([undefined, null, [], false])('without returns a transfer has none: %j', (returns) => {
  const transfer = decodeTransfer({ ...base, returns })
  expect('returns' in transfer).toBe(false)
  expect(observe(transfer).returns).toEqual([])
})
