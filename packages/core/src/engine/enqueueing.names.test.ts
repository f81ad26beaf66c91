import { expect, it } from 'vitest'
import { defaultCatalog } from '../catalog.ts'
import { Id } from '../id.ts'
import { prepareTransfer } from './enqueueing.ts'

const naming = { digest: (text: string) => text, nextId: () => Id.lowest(new Date('2026-01-01T00:00:00Z')) }

const payout = {
  accountId: 'acme',
  amount: { value: '12.50', currency: 'USD' },
  source: { address_id: '01J0000000000000000000000A', value_type: 'USDC', transfer_type: 'base' },
  destination: { address_id: '01J0000000000000000000000B', value_type: 'USD', transfer_type: 'ach_credit' },
}

it.each(['idempotency_key', 'idempotencykey', 'not_before', 'expires_at', 'expiresat', 'notbefore'])(
  'refuses an enqueue with %s, which would be paid again, too early or too late without it',
  (name) => {
    const request = { ...payout, [name]: name.startsWith('idem') ? 'INV-1' : '2026-02-01T00:00:00Z' } as never
    expect(() => prepareTransfer(request, defaultCatalog, naming, '')).toThrow(expect.objectContaining({ field: name }))
  },
)

const bank = {
  ...{ owner: 'Ana Lima', name: 'Ana', accountNumber: '12345678', routingNumber: '021000021', accountType: 'checking' },
  bankAddress: { streetLine1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' },
  beneficiaryAddress: {
    street_line_1: '2 Oak St',
    street_line_2: '',
    city: 'Springfield',
    state: 'IL',
    zip: '62701',
    country: null,
  },
  transferTypes: ['ach_credit'],
}
const inline = { address: bank, valueType: 'USD', transferType: 'ach_credit' }

it.each([
  ['destination.memo', { destination: { ...payout.destination, memo: 'INV-1' } }],
  ['source.account', { source: { ...payout.source, account: '1' } }],
  ['amount.fee', { amount: { ...payout.amount, fee: '1' } }],
  ['brand.name', { brand: { account_id: '01J0000000000000000000000A', name: 'Acme' } }],
  ['destination.address.iban', { destination: { ...inline, address: { ...bank, iban: 'DE02' } } }],
  [
    'destination.address.bankAddress.zipCode',
    { destination: { ...inline, address: { ...bank, bankAddress: { ...bank.bankAddress, zipCode: '1' } } } },
  ],
])('refuses an enqueue with %s, which does not exist and would be dropped', (field, change) => {
  const request = { ...payout, ...change } as never
  expect(() => prepareTransfer(request, defaultCatalog, naming, '0.')).toThrow(
    expect.objectContaining({ field: `0.${field}`, code: 'invalid_request' }),
  )
})

it('names the members that there are beside one that does not exist', () => {
  const request = { ...payout, destination: { ...payout.destination, memo: 'INV-1' } } as never
  expect(() => prepareTransfer(request, defaultCatalog, naming, '')).toThrow(
    'destination.memo: does not exist there; there are addressId or address, valueType, transferType and wireMemo',
  )
})

it('says that the transaction comes first where the request is missing', () => {
  const prepare = () => prepareTransfer(undefined as never, defaultCatalog, naming, '')
  expect(prepare).toThrow('request: must be an object; the transaction comes first: enqueue(tx, request)')
})

it('says what an amount, a source and a destination have, in the spelling of the request', () => {
  const prepare = (change: object) => () =>
    prepareTransfer({ ...payout, ...change } as never, defaultCatalog, naming, '')
  expect(prepare({ amount: '10 USD' })).toThrow('amount: must be an object with value, currency')
  expect(prepare({ destination: '0x1' })).toThrow(
    /^destination: must be an object with address(Id|_id), value(Type|_type), transfer/,
  )
})

it('keeps metadata beside the request, where its fingerprint does not see them', () => {
  const noted = prepareTransfer({ ...payout, metadata: { invoice: '1' } } as never, defaultCatalog, naming, '0.')
  expect(noted.metadata).toEqual({ invoice: '1' })
  expect(noted.request).not.toHaveProperty('metadata')
  expect(noted.fingerprint).toBe(prepareTransfer(payout as never, defaultCatalog, naming, '').fingerprint)
})

it('takes a counterparty in full in either spelling, with what is absent as null', () => {
  const { counterparty } = prepareTransfer({ ...payout, destination: inline } as never, defaultCatalog, naming, '')
  expect(counterparty?.address).toMatchObject({ owner: 'Ana Lima', beneficiaryAddress: { streetLine1: '2 Oak St' } })
})
