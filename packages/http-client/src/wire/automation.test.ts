import { OutlayError } from '@outlay/core'
import { expect, test } from 'vitest'
import { decodeAutomation } from './automation.ts'
import { parseJson } from './json.ts'

const instructions = `{
  "bank_address": "1 Main St", "beneficiary_address": "2 Main St", "beneficiary_name": "Acme",
  "routing_number": "021000021", "account_number": "123456", "bank_name": "Bank", "memo": null
}`

const canonicalInstructions = {
  bankAddress: '1 Main St',
  beneficiaryAddress: '2 Main St',
  beneficiaryName: 'Acme',
  routingNumber: '021000021',
  accountNumber: '123456',
  bankName: 'Bank',
  memo: null,
}

const rest = `"id": "01BX5ZZKBKACTAV9WEVGEMMVRZ", "name": "Treasury", "created_at": "2026-01-02T03:04:05.678901Z",
  "updated_at": "2026-01-02T03:05:05.678901Z"`

const destination = '{"address_id": "01BX5ZZKBKACTAV9WEVGEMMVS1", "value_type": "SBC", "transfer_type": "base"}'

const nested = (status: string, source: string) =>
  `{${rest}, "status": "${status}", "source": ${source}, "destination": ${destination}}`

const flat = (status: string, funding: string) =>
  `{${rest}, "status": "${status}", "wire_instructions": ${funding}, "destinationAddress": ${destination}}`

const canonical = {
  id: '01BX5ZZKBKACTAV9WEVGEMMVRZ',
  name: 'Treasury',
  source: { valueType: 'USD', transferType: null, fundingInstructions: canonicalInstructions },
  destination: { addressId: '01BX5ZZKBKACTAV9WEVGEMMVS1', valueType: 'SBC', transferType: 'base' },
  createdAt: '2026-01-02T03:04:05.678901Z',
  updatedAt: '2026-01-02T03:05:05.678901Z',
}

test('a new automation has no funding instructions, and its transfer type is null', () => {
  const automation = decodeAutomation(parseJson(nested('pending', '{"value_type": "USD", "transfer_type": null}')))
  const source = { valueType: 'USD', transferType: null, fundingInstructions: null }
  expect(automation).toEqual({ ...canonical, status: 'pending', source })
})

test('funding instructions that are null are null', () => {
  const text = nested('processing', '{"value_type": "USD", "transfer_type": null, "funding_instructions": null}')
  expect(decodeAutomation(parseJson(text)).source.fundingInstructions).toBeNull()
})

test.each(['active', 'complete', 'completed', 'Active'])('the status %s of the nested form is active', (status) => {
  const source = `{"value_type": "usd", "transfer_type": null, "funding_instructions": ${instructions}}`
  expect(decodeAutomation(parseJson(nested(status, source)))).toEqual({ ...canonical, status: 'active' })
})

test.each(['active', 'complete'])('the flat form with the status %s is the same automation', (status) => {
  expect(decodeAutomation(parseJson(flat(status, instructions)))).toEqual({ ...canonical, status: 'active' })
})

test('a routing number that is a number gets its leading zeros back, in either form', () => {
  const funding = instructions.replace('"021000021"', '21000021')
  const source = `{"value_type": "USD", "transfer_type": null, "funding_instructions": ${funding}}`
  for (const text of [nested('active', source), flat('active', funding)]) {
    expect(decodeAutomation(parseJson(text)).source.fundingInstructions?.routingNumber).toBe('021000021')
  }
})

test('the JSON of the service is reachable but not enumerable', () => {
  const sent = parseJson(flat('complete', instructions))
  const automation = decodeAutomation(sent)
  expect(automation.raw).toBe(sent)
  expect(Object.keys(automation)).not.toContain('raw')
})

test.each([
  ['status', '"status": "complete"', '"status": "asleep"'],
  ['id', '"id": "01BX5ZZKBKACTAV9WEVGEMMVRZ"', '"id": null'],
  ['created_at', '"created_at": "2026', '"created_at": "in 2026'],
  ['destination', '"destinationAddress"', '"somewhere"'],
  ['destination.address_id', '"address_id"', '"nothing"'],
])('an automation with an invalid %s is unreadable, by its member', (field, from, to) => {
  const run = () => decodeAutomation(parseJson(flat('complete', instructions).replace(from, to)))
  expect(run).toThrow(expect.objectContaining({ code: 'unreadable_response', field }))
  expect(() => decodeAutomation([])).toThrow(OutlayError)
})

test('a flat automation without times is read, and has none', () => {
  const sent = {
    id: 'm',
    name: 'Treasury',
    status: 'active',
    destination_address: { address_id: 'a', value_type: 'sbc', transfer_type: 'Base' },
    brand: { account_id: 'b' },
  }
  expect(decodeAutomation(sent)).toEqual({
    id: 'm',
    name: 'Treasury',
    status: 'active',
    source: { valueType: 'USD', transferType: null, fundingInstructions: null },
    destination: { addressId: 'a', valueType: 'SBC', transferType: 'base' },
    createdAt: undefined,
    updatedAt: undefined,
    brand: { accountId: 'b' },
  })
})
