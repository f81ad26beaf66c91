import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Amount } from './amount.ts'
import { Quote } from './quote.ts'

const scale = fc.integer({ min: 0, max: 8 })
const rate = fc
  .record({ units: fc.bigInt({ min: 1n, max: 10n ** 24n }) })
  .map(({ units }) => Amount.fromUnits(units, 'rate', 18).value)
const units = fc.bigInt({ min: 1n, max: 10n ** 24n })
const types = fc.record({ source: scale, destination: scale }).map(({ source, destination }) => ({
  source: { name: 'A', scale: source },
  destination: { name: 'B', scale: destination },
}))

it('the amounts of a conversion agree with its rate, and whoever gives the rate never loses by rounding', () => {
  fc.assert(
    fc.property(types, rate, units, fc.boolean(), (of, at, amount, isSource) => {
      const { name, scale: digits } = isSource ? of.source : of.destination
      const quoted = Quote.convert(Amount.fromUnits(amount, name, digits), at, of)
      expect(Quote.agrees(quoted, of)).toBe(true)
      const taken = Amount.toUnits(quoted.sourceAmount, 8) * Amount.toUnits({ value: at, currency: 'rate' }, 18)
      const given = Amount.toUnits(quoted.destinationAmount, 8) * 10n ** 18n
      expect(taken >= given).toBe(true)
      // A unit more for the other side is an error that is found.
      const more = Amount.toUnits(quoted.destinationAmount, of.destination.scale) + 1n
      const wrong = { ...quoted, destinationAmount: Amount.fromUnits(more, 'B', of.destination.scale) }
      const exact = (taken * 10n ** BigInt(of.destination.scale)) % 10n ** 26n === 0n
      if (isSource && exact) expect(Quote.agrees(wrong, of)).toBe(false)
    }),
  )
})

it('the shares of the parts of an amount add up to the whole, whatever the parts are', () => {
  fc.assert(
    fc.property(types, units, fc.array(units, { minLength: 1, maxLength: 6 }), (of, source, parts) => {
      const whole = parts.reduce((sum, part) => sum + part, 0n)
      const quote = {
        sourceAmount: Amount.fromUnits(source, 'A', of.source.scale),
        destinationAmount: Amount.fromUnits(whole, 'B', of.destination.scale),
      }
      let before = 0n
      let returned = 0n
      const text = (one: bigint) => Amount.fromUnits(one, 'B', of.destination.scale).value
      for (const part of parts) {
        const share = Quote.sourceShare(quote, { before: text(before), now: text(part) }, of.source.scale)
        before += part
        returned += Amount.toUnits(share, of.source.scale)
        expect(returned <= source).toBe(true)
      }
      expect(returned).toBe(source)
    }),
  )
})
