import { Amount } from '@outlay/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planConversion, planConversionReturn } from './conversions.ts'
import type { LedgerLeg, LedgerLine } from './ledger.ts'

const wallet = (valueType: string, addressId: string): LedgerLeg => ({
  valueType,
  transferType: 'base',
  custodial: { accountId: 'account', addressId },
})
const source = wallet('USDC', 'wallet')
const bank: LedgerLeg = { valueType: 'MXN', transferType: 'spei' }

/** Sums per value type, in units of 18 digits. */
function sums(lines: readonly LedgerLine[]): ReadonlyMap<string, bigint> {
  const totals = new Map<string, bigint>()
  for (const { value: currency, amount } of lines) {
    const units = Amount.toUnits({ value: amount.replace('-', ''), currency }, 18)
    totals.set(currency, (totals.get(currency) ?? 0n) + (amount.startsWith('-') ? -units : units))
  }
  return totals
}
const isBalanced = (lines: readonly LedgerLine[]) => [...sums(lines).values()].every((sum) => sum === 0n)
const text = (line: LedgerLine) => `${line.kind} ${line.bucket} ${line.amount} ${line.value}`

describe('the plan of a transfer with a quote', () => {
  const amounts = { sourceAmount: '5.405406', destinationAmount: '100.00' }

  it('lets the desk take one value type and give the other, to outside or to a wallet', () => {
    const plan = planConversion({ source, destination: bank, ...amounts })
    expect(plan.hold.map(text)).toEqual(['custodial available -5.405406 USDC', 'custodial held 5.405406 USDC'])
    expect(plan.post.map(text)).toEqual([
      'custodial held -5.405406 USDC',
      'exchange available 5.405406 USDC',
      'exchange available -100.00 MXN',
      'outside available 100.00 MXN',
    ])
    expect(plan.void.map(text)).toEqual(['custodial held -5.405406 USDC', 'custodial available 5.405406 USDC'])
    expect(Object.values(plan).every(isBalanced)).toBe(true)
    const swap = planConversion({ source, destination: wallet('EURC', 'wallet'), ...amounts })
    expect(swap.post.at(-1)).toMatchObject({ kind: 'custodial', bucket: 'available', amount: '100.00', value: 'EURC' })
  })

  it('needs a wallet that has what is changed', () => {
    expect(() => planConversion({ source: bank, destination: source, ...amounts })).toThrow(/wallet/)
  })
})

it('whatever comes back, in whatever parts, every reversal is balanced, and all of them undo the end', () => {
  const units = fc.bigInt({ min: 1n, max: 10n ** 15n })
  fc.assert(
    fc.property(units, fc.array(units, { minLength: 1, maxLength: 6 }), (taken, parts) => {
      const value = (part: bigint, scale: number) => Amount.fromUnits(part, 'x', scale).value
      const given = parts.reduce((sum, part) => sum + part, 0n)
      const quote = {
        sourceAmount: { value: value(taken, 6), currency: 'USDC' },
        destinationAmount: { value: value(given, 2), currency: 'MXN' },
      }
      const ends = { sourceAmount: quote.sourceAmount.value, destinationAmount: quote.destinationAmount.value }
      const { post } = planConversion({ source, destination: bank, ...ends })
      const moved: LedgerLine[] = [...post]
      let before = 0n
      for (const part of parts) {
        const { lines, sourceValue } = planConversionReturn(
          { accountId: 'account', destinationAddressId: 'bank', post },
          quote,
          { before: value(before, 2), now: value(part, 2) },
          6,
        )
        expect(isBalanced(lines)).toBe(true)
        expect(lines.every(({ bucket }) => bucket === 'available')).toBe(true)
        const credited = lines.find(({ kind }) => kind === 'custodial')?.amount ?? '0'
        expect(Number(credited)).toBe(Number(sourceValue))
        moved.push(...lines)
        before += part
      }
      for (const kind of ['custodial', 'exchange', 'outside'])
        expect([...sums(moved.filter((line) => line.kind === kind)).values()].every((sum) => sum === 0n)).toBe(true)
    }),
  )
})

it('what a wallet of somebody else has got does not come back: the account of the transfer owes it', () => {
  const theirs: LedgerLeg = { ...wallet('EURC', 'theirs'), custodial: { accountId: 'other', addressId: 'theirs' } }
  const quote = {
    sourceAmount: { value: '10', currency: 'USDC' },
    destinationAmount: { value: '8', currency: 'EURC' },
  }
  const { post } = planConversion({ source, destination: theirs, sourceAmount: '10', destinationAmount: '8' })
  const transfer = { accountId: 'account', destinationAddressId: 'payee', post }
  const { lines } = planConversionReturn(transfer, quote, { before: '0', now: '8' }, 6)
  expect(lines.at(-1)).toMatchObject({ kind: 'receivable', account: 'account', address: 'payee', amount: '-8' })
  expect(isBalanced(lines)).toBe(true)
})
