import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Amount } from './amount.ts'

const scale = fc.integer({ min: 0, max: 18 })
const units = fc.bigInt({ min: 0n, max: 10n ** 28n })
const weights = fc
  .array(fc.oneof(fc.nat(), fc.bigInt({ min: 0n, max: 10n ** 20n })), { minLength: 1, maxLength: 20 })
  .filter((list) => list.some((weight) => weight > 0))

const amount = fc.tuple(units, scale).map(([count, digits]) => Amount.fromUnits(count, 'USDC', digits))

describe('Amount, for any amounts', () => {
  it('comes back from units, and from its own text', () => {
    fc.assert(
      fc.property(units, scale, (count, digits) => {
        const made = Amount.fromUnits(count, 'USDC', digits)
        expect(Amount.parse(made)).toEqual(made)
        expect(Amount.toUnits(made, digits)).toBe(count)
        expect(Amount.format(made, digits)).toBe(made.value)
      }),
    )
  })

  it('adds and subtracts like whole numbers of units', () => {
    fc.assert(
      fc.property(amount, amount, (left, right) => {
        const sum = Amount.add(left, right)
        expect(Amount.toUnits(sum, 18)).toBe(Amount.toUnits(left, 18) + Amount.toUnits(right, 18))
        expect(Amount.equals(Amount.subtract(sum, right), left)).toBe(true)
      }),
    )
  })

  it('orders like whole numbers of units', () => {
    fc.assert(
      fc.property(amount, amount, (left, right) => {
        const difference = Amount.toUnits(left, 18) - Amount.toUnits(right, 18)
        expect(Amount.compare(left, right)).toBe(difference < 0n ? -1 : difference > 0n ? 1 : 0)
        expect(Amount.compare(left, right) + Amount.compare(right, left)).toBe(0)
      }),
    )
  })

  it('loses no unit when it is split, and no share is off by a whole one', () => {
    fc.assert(
      fc.property(units, scale, weights, (count, digits, list) => {
        const shares = Amount.allocate(Amount.fromUnits(count, 'USDC', digits), list, digits)
        const parts = shares.map((share) => Amount.toUnits(share, digits))
        expect(parts.reduce((sum, part) => sum + part, 0n)).toBe(count)
        const total = list.reduce<bigint>((sum, weight) => sum + BigInt(weight), 0n)
        for (const [at, part] of parts.entries()) {
          const exact = count * BigInt(list[at] ?? 0)
          const off = part * total - exact
          expect(off < total && off > -total).toBe(true)
        }
      }),
    )
  })

  it('gives more to a greater weight, and as much or one unit more to the earlier of equal ones', () => {
    fc.assert(
      fc.property(units, weights, (count, list) => {
        const parts = Amount.allocate(Amount.fromUnits(count, 'USDC', 0), list, 0).map((share) => BigInt(share.value))
        for (let at = 1; at < parts.length; at += 1) {
          const [before = 0n, after = 0n] = [parts[at - 1], parts[at]]
          const [heavy, light] = [BigInt(list[at - 1] ?? 0), BigInt(list[at] ?? 0)]
          if (heavy > light) expect(before >= after).toBe(true)
          if (heavy === light) expect(before === after || before === after + 1n).toBe(true)
        }
      }),
    )
  })
})
