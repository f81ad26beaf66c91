import { describe, expect, it } from 'vitest'
import { refuseAddresses } from './address-ids.ts'

const payout = { source: { addressId: 'wallet-1' }, destination: { addressId: '01J0000000000000000000000B' } }

describe('an address where an id belongs', () => {
  it.each([
    ['of an EVM chain', '0x8ba1f109551bd432803012645ac136ddd64dba72'],
    ['of an EVM chain, mistyped', '0x8Ba1f109551bD432803012645Ac136ddd64DBA71'],
    ['of Stellar', 'GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN'],
    ['of the XRP Ledger', 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh'],
    ['of Canton', `party::1220${'ab'.repeat(32)}`],
  ])('is refused, with what to write: one %s', (_, addressId) => {
    expect(() => refuseAddresses({ ...payout, destination: { addressId } }, '3.')).toThrow(
      expect.objectContaining({
        ...{ code: 'invalid_id', field: '3.destination.addressId' },
        message: expect.stringContaining('or give the address in full as destination.address'),
      }),
    )
    expect(() => refuseAddresses({ ...payout, source: { address_id: addressId } }, '')).toThrow(
      expect.objectContaining({ field: 'source.address_id', message: expect.stringContaining('gave to the wallet') }),
    )
  })

  it.each([
    '01J0000000000000000000000B',
    '3f2504e0-4f89-11d3-9a0c-0305e82c3301',
    '0x12',
    'ba_1N2b3C4d5E6f7G8h',
    '4242424242',
    // As long as an address of the XRP Ledger, and without its checksum.
    'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTi',
    '7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtVA',
  ])('is not what an id of a service is taken for: %s', (addressId) => {
    expect(() => refuseAddresses({ source: { addressId }, destination: { addressId } }, '')).not.toThrow()
  })

  it.each([null, undefined, 7, {}, { source: null }, { destination: { addressId: 7 } }])(
    'leaves %o to the reading of the request',
    (request) => {
      expect(() => refuseAddresses(request, '')).not.toThrow()
    },
  )
})
