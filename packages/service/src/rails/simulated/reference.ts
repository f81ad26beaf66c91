import { createHash } from 'node:crypto'
import { base58 } from '@scure/base'

const digest = (seed: string): Buffer => createHash('sha256').update(seed).digest()

/** Eight digits of the bank that originates the ACH entries. */
const originatingBank = 71_000_010

/** A transaction hash in the format of a chain; the same seed gives the same hash. */
export const chainHash = (transferType: string, seed: string): string => {
  const hash = digest(`${transferType}/${seed}`)
  if (transferType.startsWith('solana')) return base58.encode(Buffer.concat([hash, digest(`${seed}/2`)]))
  if (transferType.startsWith('stellar')) return hash.toString('hex')
  if (transferType.startsWith('xrp_ledger')) return hash.toString('hex').toUpperCase()
  if (transferType.startsWith('canton')) return `1220${hash.toString('hex')}`
  return `0x${hash.toString('hex')}`
}

/** An IMAD: the date, eight characters for the source, six digits. `sequence` is unique among wires. */
export const imad = (date: string, sequence: number): string => {
  const source = Math.floor(sequence / 1_000_000)
    .toString(36)
    .toUpperCase()
    .padStart(4, '0')
    .slice(-4)
  return `${date.replaceAll('-', '')}OUTL${source}${String(sequence % 1_000_000).padStart(6, '0')}`
}

/** An ACH trace number: eight digits of the originating bank, seven of the entry. `sequence` is unique among entries. */
export const traceNumber = (sequence: number): string => {
  const bank = originatingBank + (Math.floor(sequence / 10_000_000) % 9_000_000)
  return `${String(bank).padStart(8, '0')}${String(sequence % 10_000_000).padStart(7, '0')}`
}

/** The reference of a payment in the format of its rail. `sequence` is unique over all of them. */
export const paymentReference = (transferType: string, seed: string, sequence: number, date: string): string => {
  if (transferType === 'wire') return imad(date, sequence)
  if (transferType.includes('ach_')) return traceNumber(sequence)
  if (transferType === 'rtp') return `${date.replaceAll('-', '')}OUTLAYRTP${String(sequence).padStart(10, '0')}`
  if (transferType === 'spei') return `OUTLAY${date.replaceAll('-', '')}${String(sequence).padStart(10, '0')}`
  return chainHash(transferType, seed)
}
