import { Address } from '../address.ts'
import { OutlayError } from '../error.ts'
import type { ChainFamily } from '../transfer-type.ts'

/**
 * Families whose addresses no id of a service looks like, and the shape that each has. Most ids have none of these shapes, and are not
 * parsed: a refusal costs more than the rest of the check.
 */
const shapes: readonly (readonly [ChainFamily, RegExp])[] = [
  ['evm', /^0x/],
  ['stellar', /^[GM][A-Z2-7]{55,68}$/],
  ['xrp', /^r/],
  ['canton', /::/],
]

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
    if (typeof id !== 'string' || !shapes.some(([family, shape]) => shape.test(id) && isAddress(id, family))) continue
    const message = `is an address and no id; ${advice[side]}`
    throw OutlayError.fromIssues([{ field: `${prefix}${side}.${name}`, code: 'invalid_id', message }])
  }
}

type Leg = { readonly addressId?: unknown; readonly address_id?: unknown } | null
