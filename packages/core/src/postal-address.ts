import { enter, type Input, type Member, member, readText } from './input.ts'

/** The address of a business, a person or a bank. Specification: AccountAddress, bank_address, beneficiary_address. */
export interface PostalAddress {
  readonly streetLine1: string
  readonly streetLine2?: string | undefined
  readonly city: string
  readonly state: string
  readonly zip: string
  readonly country?: string | undefined
}

const streetLine1 = member('streetLine1')
const streetLine2 = member('streetLine2')
const city = member('city')
const state = member('state')
const zip = member('zip')
const country = member('country')

/** Reads a postal address member; records every broken rule in the input. An optional one may be absent. */
export const readPostalAddress = (parent: Input, at: Member, optional = false): PostalAddress | undefined => {
  const input = enter(parent, at, optional)
  if (input === undefined) return undefined
  const before = input.issues.length
  const second = readText(input, streetLine2, { optional: true, empty: true })
  const land = readText(input, country, { optional: true, empty: true })
  const address = {
    streetLine1: readText(input, streetLine1) ?? '',
    ...(second === undefined ? {} : { streetLine2: second }),
    city: readText(input, city) ?? '',
    state: readText(input, state) ?? '',
    zip: readText(input, zip) ?? '',
    ...(land === undefined ? {} : { country: land }),
  }
  return input.issues.length === before ? address : undefined
}
