import { Decimal as BaseDecimal } from 'decimal.js'
import { type ErrorCode, OutlayError } from './error.ts'
import { Limits } from './limits.ts'
import type { ValueTypeName } from './value-type.ts'

/** An exact quantity of one currency or token. Specification: "Amount". */
export interface Amount {
  /** Decimal digits with an optional fraction, for example `1250.00`; never an exponent, a sign or a separator. */
  readonly value: string
  /** Value type, for example `USD` or `USDC`. */
  readonly currency: ValueTypeName
}

/** How {@link Amount.parse} reads. */
export interface AmountOptions {
  /** Path of the amount in the input, put before `value` and `currency`. Default `amount`. */
  readonly field?: string | undefined
  /** Most digits of the fraction. Default 18. */
  readonly scale?: number | undefined
  /** The only currency that is accepted. */
  readonly currency?: ValueTypeName | undefined
}

// Wide enough for every value that parse lets in, so that no operation rounds.
const Decimal = BaseDecimal.clone({ precision: 100, toExpNeg: -1000, toExpPos: 1000 })

const decimalPattern = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/

/** The rule that the text of an amount breaks. */
export interface AmountProblem {
  readonly code: ErrorCode
  readonly message: string
}

/** The rule that a decimal text breaks, if any: digits, size and scale. */
export const amountProblem = (
  value: unknown,
  scale: number = Limits.amountFractionDigits,
): AmountProblem | undefined => {
  if (typeof value !== 'string') return { code: 'invalid_amount', message: 'must be a decimal string, never a number' }
  const match = value.length <= 1000 ? decimalPattern.exec(value) : null
  if (match === null) {
    return {
      code: 'invalid_amount',
      message: 'must be plain decimal digits such as 1250.00: no sign, exponent or separator',
    }
  }
  if ((match[1]?.length ?? 0) > Limits.amountIntegerDigits) {
    return {
      code: 'amount_too_large',
      message: `must have at most ${Limits.amountIntegerDigits} digits before the point`,
    }
  }
  if ((match[2]?.length ?? 0) > scale) {
    return { code: 'amount_too_precise', message: `must have at most ${scale} digits after the point` }
  }
  return undefined
}

const fail = (code: ErrorCode, message: string, field: string): never => {
  throw OutlayError.fromIssues([{ code, message, field }])
}

const parse = (input: unknown, options: AmountOptions = {}): Amount => {
  const field = options.field ?? 'amount'
  if (typeof input !== 'object' || input === null) return fail('invalid_amount', 'must be {value, currency}', field)
  const { value, currency } = input as { readonly value?: unknown; readonly currency?: unknown }
  const at = (name: string) => (field === '' ? name : `${field}.${name}`)
  const problem = amountProblem(value, options.scale)
  if (problem !== undefined) return fail(problem.code, problem.message, at('value'))
  if (typeof currency !== 'string' || currency === '') return fail('missing_field', 'is required', at('currency'))
  if (options.currency !== undefined && currency !== options.currency) {
    return fail('currency_mismatch', `must be ${options.currency}`, at('currency'))
  }
  return { value: value as string, currency }
}

const of = (value: string, currency: ValueTypeName): Amount => parse({ value, currency })

const sameCurrency = (left: Amount, right: Amount): string => {
  if (left.currency !== right.currency) {
    throw new OutlayError('currency_mismatch', `cannot combine ${left.currency} and ${right.currency}`)
  }
  return left.currency
}

const fractionDigits = (value: string): number => {
  const point = value.indexOf('.')
  return point < 0 ? 0 : value.length - point - 1
}

const isPositive = (amount: Amount): boolean => /[1-9]/.test(amount.value)

// The longer fraction is kept, so 1.10 + 2 is 3.10 and not 3.1.
const add = (left: Amount, right: Amount): Amount => {
  const currency = sameCurrency(left, right)
  const digits = Math.max(fractionDigits(left.value), fractionDigits(right.value))
  return { value: new Decimal(left.value).plus(right.value).toFixed(digits), currency }
}

const subtract = (left: Amount, right: Amount): Amount => {
  const currency = sameCurrency(left, right)
  const digits = Math.max(fractionDigits(left.value), fractionDigits(right.value))
  const difference = new Decimal(left.value).minus(right.value)
  if (difference.isNegative() && !difference.isZero()) {
    throw new OutlayError('invalid_amount', 'an amount cannot be less than zero')
  }
  return { value: difference.abs().toFixed(digits), currency }
}

const compare = (left: Amount, right: Amount): -1 | 0 | 1 => {
  sameCurrency(left, right)
  return new Decimal(left.value).comparedTo(right.value) as -1 | 0 | 1
}

const equals = (left: Amount, right: Amount): boolean =>
  left.currency === right.currency && new Decimal(left.value).equals(right.value)

const toUnits = (amount: Amount, scale: number): bigint => {
  const [whole = '', fraction = ''] = amount.value.split('.')
  if (/[1-9]/.test(fraction.slice(scale))) {
    throw new OutlayError('amount_too_precise', `${amount.currency} has at most ${scale} digits after the point`)
  }
  return BigInt(whole + fraction.slice(0, scale).padEnd(scale, '0'))
}

const fromUnits = (units: bigint, currency: ValueTypeName, scale: number): Amount => {
  if (units < 0n) throw new OutlayError('invalid_amount', 'an amount cannot be less than zero')
  const digits = units.toString().padStart(scale + 1, '0')
  const point = digits.length - scale
  return { value: scale === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`, currency }
}

const format = (amount: Amount, scale: number): string =>
  fromUnits(toUnits(amount, scale), amount.currency, scale).value

const weighed = (weights: readonly (number | bigint)[]): bigint[] =>
  weights.map((weight) => {
    const exact = typeof weight === 'bigint' || Number.isSafeInteger(weight)
    if (!exact || weight < 0) throw new Error('Amount.allocate needs whole weights that are not negative')
    return BigInt(weight)
  })

const allocate = (amount: Amount, weights: readonly (number | bigint)[], scale: number): Amount[] => {
  const exact = weighed(weights)
  const total = exact.reduce((sum, weight) => sum + weight, 0n)
  if (total === 0n) throw new Error('Amount.allocate needs a weight above zero')
  const units = toUnits(amount, scale)
  const shares = exact.map((weight) => ({
    units: (units * weight) / total,
    remainder: (units * weight) % total,
  }))
  let left = shares.reduce((rest, share) => rest - share.units, units)
  // The sort is stable, so of equal remainders the earlier one comes first.
  for (const share of [...shares].sort((one, other) => Number(other.remainder - one.remainder))) {
    if (left === 0n) break
    share.units += 1n
    left -= 1n
  }
  return shares.map((share) => fromUnits(share.units, amount.currency, scale))
}

/** Reads, computes and writes amounts; exact throughout. */
export const Amount = {
  /**
   * Reads `{value, currency}` of unknown origin; zero is let through. Throws `invalid_amount`, `amount_too_large`,
   * `amount_too_precise`, `missing_field` or `currency_mismatch`.
   */
  parse,
  /** Makes an amount of two strings; throws what `parse` throws. */
  of,
  /** True when it is more than zero. */
  isPositive,
  /** The sum, with the longer fraction of the two. Throws `currency_mismatch`. */
  add,
  /** The difference, with the longer fraction of the two. Throws `currency_mismatch`, or `invalid_amount` below zero. */
  subtract,
  /** −1, 0 or 1. Throws `currency_mismatch`. */
  compare,
  /** True for the same currency and the same number, however it is written: 1.5 equals 1.50. */
  equals,
  /** The whole number of smallest units. Throws `amount_too_precise` when that is not whole. */
  toUnits,
  /** The amount of a whole number of smallest units, with exactly `scale` digits after the point. */
  fromUnits,
  /**
   * Splits by whole weights without losing a unit: largest remainder first, the earlier of equal ones. The shares are
   * in the order of the weights. Throws `amount_too_precise`; Error for weights that are negative, broken or all zero.
   */
  allocate,
  /** The value with exactly `scale` digits after the point. Throws `amount_too_precise`. */
  format,
} as const
