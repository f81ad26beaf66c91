import { OutlayError } from '@outlay/core'
import { expect, test } from 'vitest'
import { decodeFinancialInstitution, decodeFinancialInstitutionState } from './financial-institution.ts'
import { parseJson } from './json.ts'

const place = '{"street_line_1": "1 Main St", "city": "Austin", "state": "TX", "zip": "78701"}'
const canonicalPlace = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }

const linked = (routingNumber: string) => `{
  "id": "fi", "name": "Checking", "status": "active", "transfer_type": ["ach_debit", "rtp_credit"],
  "bank_details": {
    "owner": "Ada", "account_number": "****7890", "routing_number": ${routingNumber}, "name": "First Bank",
    "account_type": "checking",
    "address": {"street_line_1": "1 Main St", "street_line_2": "", "city": "Austin", "state": "TX", "zip": "78701",
      "country": "US"}
  }
}`

test.each(['"021000021"', '21000021'])(
  'a complete linked one is read, its routing number being %s',
  (routingNumber) => {
    expect(decodeFinancialInstitution(parseJson(linked(routingNumber)))).toEqual({
      id: 'fi',
      name: 'Checking',
      status: 'active',
      transferTypes: ['ach_debit', 'rtp'],
      bankDetails: {
        owner: 'Ada',
        accountNumber: '****7890',
        routingNumber: '021000021',
        name: 'First Bank',
        accountType: 'checking',
        address: { ...canonicalPlace, country: 'US' },
      },
    })
  },
)

test('one that was registered by hand has its members flat', () => {
  const text = `{"id": "fi", "owner": "Ada", "account_number": "1234567890", "routing_number": 21000021,
    "beneficiary_address": ${place}, "bank_address": ${place}, "account_type": "checking"}`
  expect(decodeFinancialInstitution(parseJson(text))).toMatchObject({
    id: 'fi',
    status: undefined,
    transferTypes: [],
    bankDetails: {
      owner: 'Ada',
      accountNumber: '1234567890',
      routingNumber: '021000021',
      accountType: 'checking',
      address: canonicalPlace,
    },
    beneficiaryAddress: canonicalPlace,
  })
})

test('an unknown status is only in raw', () => {
  const institution = decodeFinancialInstitution(parseJson('{"id": "fi", "status": "dormant"}'))
  expect(institution.status).toBeUndefined()
  expect(institution.raw).toMatchObject({ status: 'dormant' })
})

test('one without an id is unreadable', () => {
  expect(() => decodeFinancialInstitution({ name: 'Checking' })).toThrow(OutlayError)
  expect(() => decodeFinancialInstitution(null)).toThrow(OutlayError)
})

test('its state says whether it has to be linked again', () => {
  const text = `{"status": "active", "last_updated": "2026-01-02T03:04:05.678Z", "financial_institution_id": "fi",
    "needs_update": true}`
  expect(decodeFinancialInstitutionState(parseJson(text), 'asked')).toEqual({
    financialInstitutionId: 'fi',
    status: 'active',
    lastUpdated: '2026-01-02T03:04:05.678Z',
    needsUpdate: true,
  })
})

test('a state without needs_update is read from its status', () => {
  const needsUpdate = (status: string) => decodeFinancialInstitutionState({ status }, 'asked')
  expect(needsUpdate('login_required')).toMatchObject({ financialInstitutionId: 'asked', needsUpdate: true })
  expect(needsUpdate('active')).toMatchObject({ needsUpdate: false })
  expect(() => decodeFinancialInstitutionState({ needs_update: 'yes' }, 'asked')).toThrow(OutlayError)
})
