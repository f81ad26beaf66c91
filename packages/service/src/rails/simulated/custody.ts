import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { Address, type Catalog, type ChainFamily, defaultCatalog, type Random } from '@outlay/core'
import { base32nopad, base58, base58xrp } from '@scure/base'
import type { WalletCustody } from '../../addresses/custody.ts'

/** The custodian of the simulated rails: wallets without keys, since no simulated chain asks for a signature. */
export function createSimulatedCustody(catalog: Catalog = defaultCatalog): WalletCustody {
  return {
    name: 'simulated',
    async provision({ accountId, walletId, wallets }) {
      const owner = walletId === undefined ? accountId : `${accountId} ${walletId}`
      return wallets.map(({ family, transferTypes }) => {
        const seed = new TextEncoder().encode(`${owner} ${transferTypes.join(' ')}`)
        return deriveAddress(family, { bytes: (length) => sha256(seed).slice(0, length) }, catalog)
      })
    },
  }
}

/** A fresh address in the format of a chain family, with a valid checksum. */
export function deriveAddress(
  family: ChainFamily,
  random: Pick<Random, 'bytes'>,
  catalog: Catalog = defaultCatalog,
): string {
  switch (family) {
    case 'evm':
      return Address.parse('evm', `0x${bytesToHex(random.bytes(20))}`)
    case 'solana':
      return base58.encode(random.bytes(32))
    case 'stellar':
      return stellarAddress(random.bytes(32))
    case 'xrp':
      return xrpAddress(random.bytes(20))
    case 'canton':
      return `wallet-${bytesToHex(random.bytes(4))}::1220${bytesToHex(random.bytes(32))}`
    default:
      return addedAddress(catalog, family, random.bytes(32))
  }
}

function addedAddress(catalog: Catalog, family: string, octets: Uint8Array): string {
  const added = catalog.family(family)
  if (added === undefined) throw new Error(`The catalog has no family ${family}.`)
  return added.fromOctets(octets)
}

const stellarAccountVersion = 6 << 3

function stellarAddress(publicKey: Uint8Array): string {
  const payload = Uint8Array.of(stellarAccountVersion, ...publicKey)
  const crc = crc16XModem(payload)
  return base32nopad.encode(Uint8Array.of(...payload, crc & 0xff, crc >> 8))
}

function crc16XModem(octets: Uint8Array): number {
  let crc = 0
  for (const octet of octets) {
    crc ^= octet << 8
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff
  }
  return crc
}

function xrpAddress(accountId: Uint8Array): string {
  const payload = Uint8Array.of(0, ...accountId)
  return base58xrp.encode(Uint8Array.of(...payload, ...sha256(sha256(payload)).subarray(0, 4)))
}
