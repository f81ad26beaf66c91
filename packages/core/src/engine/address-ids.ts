import { Address } from '../address.ts'
import { OutlayError } from '../error.ts'
import type { ChainFamily } from '../transfer-type.ts'

/** Families whose addresses no id of a service looks like: they have a checksum, a prefix, or both. */
const families: readonly ChainFamily[] = ['evm', 'stellar', 'xrp', 'canton']

const isAddress = (text: string, family: ChainFamily): boolean => {
  try {
    Address.parse(family, text)
    return true
  } catch (error) {
    // A mistyped address is one, too; elsewhere an id may have the same letters.
    return family === 'evm' && OutlayError.is(error, 'address_checksum_mismatch')
  }
}

const advice = {
  source: 'write the id that the service gave to the wallet',
  destination: 'write the id that the service gave to the address, or give the address in full as destination.address',
} as const

/** Throws `invalid_id` for a leg whose `addressId` is the address itself: the service would not find it, or not before it is sent. */
export function refuseAddresses(request: unknown, prefix: string): void {
  const legs = request as { readonly source?: Leg; readonly destination?: Leg } | null | undefined
  for (const side of ['source', 'destination'] as const) {
    const leg = legs?.[side]
    const name = leg?.addressId === undefined ? 'address_id' : 'addressId'
    const id: unknown = leg?.[name]
    if (typeof id !== 'string' || !families.some((family) => isAddress(id, family))) continue
    const message = `is an address and no id; ${advice[side]}`
    throw OutlayError.fromIssues([{ field: `${prefix}${side}.${name}`, code: 'invalid_id', message }])
  }
}

type Leg = { readonly addressId?: unknown; readonly address_id?: unknown } | null
