import { expect, test } from 'vitest'
import { decodeAccount, decodeAccountId } from './account.ts'

test('an account is read with its owners, and without missing members', () => {
  const place = { street_line_1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
  expect(
    decodeAccount({
      id: 'a',
      status: 'completed',
      business_name: 'Acme',
      address: place,
      ultimate_beneficial_owners: [{ name: 'Ada', ssn: '***-**-6789', address: place }],
    }),
  ).toMatchObject({
    id: 'a',
    status: 'complete',
    businessName: 'Acme',
    email: '',
    ultimateBeneficialOwners: [{ name: 'Ada', ssn: '***-**-6789', address: { city: 'Austin' } }],
  })
})

test('a list of accounts has ids or accounts', () => {
  expect(['a', { id: 'b' }].map(decodeAccountId)).toEqual(['a', 'b'])
})
