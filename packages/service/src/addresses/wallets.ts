import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { Address, type Catalog, type ChainFamily, Id, type Random } from '@outlay/core'
import { base32nopad, base58, base58xrp } from '@scure/base'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import type { Environment } from '../schema/caller.ts'

/** The chains that one wallet covers: all EVM chains of an environment, or a single other one. */
export interface WalletPlan {
  readonly family: ChainFamily
  readonly transferTypes: readonly string[]
}

const familyNames: Readonly<Record<ChainFamily, string>> = {
  evm: 'EVM',
  solana: 'Solana',
  stellar: 'Stellar',
  xrp: 'XRP Ledger',
  canton: 'Canton',
}

/**
 * The wallets of an account of this environment, EVM first. Specification: "Addresses" rules 1 and 2.
 */
export function planWallets(catalog: Catalog, environment: Environment): readonly WalletPlan[] {
  const chains = catalog.transferTypes.filter((one) => one.family !== 'bank' && one.environment === environment)
  const evm = chains.filter((one) => one.family === 'evm').map((one) => one.name)
  const others = chains.flatMap(({ family, name }) =>
    family === 'evm' || family === 'bank' ? [] : [{ family, transferTypes: [name] }],
  )
  return evm.length === 0 ? others : [{ family: 'evm', transferTypes: evm }, ...others]
}

/** Creates the account's custodial wallets in the caller's transaction. One statement. */
export async function createWallets(
  tx: Tx,
  context: ServiceContext,
  account: { readonly id: string; readonly environment: Environment; readonly status: 'pending' | 'active' },
): Promise<void> {
  const plans = planWallets(context.catalog, account.environment)
  // Ids of one millisecond have no order of their own; sorting them keeps EVM first in lists.
  const ids = plans.map(() => Id.generate(context.clock, context.random)).sort()
  const wallets = plans.map(({ family, transferTypes }, at) => {
    const address = deriveAddress(family, context.random)
    return {
      id: ids[at],
      kind: family === 'canton' ? 'canton' : 'wallet',
      family,
      name: `${familyNames[family]} wallet`,
      address,
      address_normal: family === 'evm' ? address.toLowerCase() : address,
      transfer_types: transferTypes,
    }
  })
  const values = [account.id, account.environment, account.status, JSON.stringify(wallets), context.clock.now()]
  await run(tx, context, insertWallets, values)
}

/** A fresh address in the format of a chain family, with a valid checksum. */
export function deriveAddress(family: ChainFamily, random: Random): string {
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
  }
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

const insertWallets = statement(
  'address_insert_wallets',
  `insert into {{schema}}.address
     (id, account_id, environment, type, kind, family, status, name, address, address_normal, transfer_types,
      created_at, updated_at)
   select w.id, $1, $2, 'internal', w.kind, w.family, $3, w.name, w.address, w.address_normal, w.transfer_types, $5, $5
     from jsonb_to_recordset($4::jsonb) as w
       (id text, kind text, family text, name text, address text, address_normal text, transfer_types text[])`,
)
