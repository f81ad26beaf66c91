import { OutlayError } from './error.ts'

/** A family of chains that a host adds to a catalog: how its addresses are read. */
export interface AddressFamily {
  /** Lower-case letters, digits and underscores, for example `tron`. */
  readonly name: string
  /**
   * Reads an address into its canonical spelling, with its checksum. Throws an OutlayError with `invalid_address` or
   * `address_checksum_mismatch` and the field; any other error counts as `invalid_address`.
   */
  readonly parse: (value: string, field: string) => string
  /** Writes an address from 32 octets, for the wallets of simulated chains. Equal octets give equal addresses. */
  readonly fromOctets: (octets: Uint8Array) => string
}

const longestAddress = 300

/**
 * Reads an address by the check of a host's family. Throws `invalid_address` or `address_checksum_mismatch`; a bare Error when the check
 * gives something else than text.
 */
export const parseByFamily = (family: AddressFamily, value: string, field: string): string => {
  let parsed: unknown
  try {
    parsed = family.parse(value, field)
  } catch (error) {
    if (OutlayError.is(error)) throw error
    throw OutlayError.fromIssues([{ field, code: 'invalid_address', message: `must be an address of ${family.name}` }])
  }
  if (typeof parsed === 'string' && parsed !== '' && parsed.length <= longestAddress && parsed.isWellFormed())
    return parsed
  throw new Error(`family ${family.name}: parse must give the address as text of 1 to ${longestAddress} characters`)
}

const namePattern = /^[a-z][a-z0-9_]{0,31}$/

/** The families of a host by their names. Throws Error for one that is unusable, there twice, or built in. */
export const indexFamilies = (
  families: readonly AddressFamily[],
  builtIn: readonly string[],
): ReadonlyMap<string, AddressFamily> => {
  const byName = new Map<string, AddressFamily>()
  for (const family of families) {
    const { name, parse, fromOctets } = family
    if (typeof name !== 'string' || !namePattern.test(name))
      throw new Error(`family ${name}: a name has lower-case letters, digits and underscores, and starts with a letter`)
    if (builtIn.includes(name) || byName.has(name)) throw new Error(`family ${name}: there is one of this name already`)
    if (typeof parse !== 'function' || typeof fromOctets !== 'function')
      throw new Error(`family ${name}: needs the functions parse and fromOctets`)
    byName.set(name, Object.freeze({ name, parse, fromOctets }))
  }
  return byName
}
