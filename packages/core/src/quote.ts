import { Amount, amountProblem } from './amount.ts'
import type { Catalog } from './catalog.ts'
import {
  closeInput,
  enter,
  type Input,
  member,
  notInCatalog,
  openInput,
  type ParseOptions,
  read,
  readText,
  refuse,
} from './input.ts'
import { Limits } from './limits.ts'
import type { ValueType, ValueTypeName } from './value-type.ts'

/** The side of a quote whose amount was asked for; the other one follows from the rate. */
export type QuoteSide = 'source' | 'destination'

/** Statuses of a quote. An open one can be used once, until it expires. */
export const quoteStatuses = ['open', 'used', 'expired'] as const

/** A status of a quote. */
export type QuoteStatus = (typeof quoteStatuses)[number]

/** A request for a quote. */
export interface QuoteRequest {
  /** More than zero, in the value type of the side that is fixed. */
  readonly amount: Amount
  readonly source: { readonly valueType: ValueTypeName }
  readonly destination: { readonly valueType: ValueTypeName }
}

/** A rate between two value types that are not worth the same, guaranteed for one transfer. */
export interface Quote {
  readonly id: string
  readonly status: QuoteStatus
  /** How many of the destination's value type one of the source's becomes: a decimal string. */
  readonly rate: string
  readonly fixedSide: QuoteSide
  /** What the transfer takes from its source. */
  readonly sourceAmount: Amount
  /** What arrives at its destination. */
  readonly destinationAmount: Amount
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** ISO 8601, UTC: a transfer can be created with it before then. */
  readonly expiresAt: string
  /** The transfer that has used it. */
  readonly transferId?: string | undefined
}

/** The quote of a transfer. */
export type TransferQuote = Pick<Quote, 'id' | 'rate' | 'sourceAmount' | 'destinationAmount'>

/** Two amounts and the rate between them. */
export interface QuotedAmounts {
  /** Decimal string, at most 18 digits after the point. */
  readonly rate: string
  readonly fixedSide: QuoteSide
  readonly sourceAmount: Amount
  readonly destinationAmount: Amount
}

/** The value types of a quote. */
export interface QuotedTypes {
  readonly source: Pick<ValueType, 'name' | 'scale'>
  readonly destination: Pick<ValueType, 'name' | 'scale'>
}

const members = {
  amount: member('amount'),
  value: member('value'),
  currency: member('currency'),
  source: member('source'),
  destination: member('destination'),
  valueType: member('valueType'),
} as const

/** A side being read; without `value` it broke a rule. */
interface Side {
  readonly input: Input
  readonly value: ValueType | undefined
}

const readSide = (parent: Input, side: QuoteSide, catalog: Catalog): Side | undefined => {
  const input = enter(parent, members[side])
  const name = input && readText(input, members.valueType)
  if (input === undefined || name === undefined) return undefined
  const value = catalog.valueType(name)
  if (value === undefined) refuse(input, members.valueType, 'unknown_value_type', notInCatalog(catalog.valueTypes))
  return { input, value }
}

const checkSides = (source: Side | undefined, destination: Side | undefined): void => {
  if (source?.value?.kind === 'fiat') {
    const message =
      'must be a token: a rate is guaranteed for value that a wallet has, and not for money that has yet to come'
    refuse(source.input, members.valueType, 'unsupported_flow', message)
  }
  if (source?.value === undefined || destination?.value === undefined) return
  if (source.value.peg !== destination.value.peg) return
  const message = `must not be worth ${source.value.peg}, as ${source.value.name} is: between the two, value moves one to one without a quote`
  refuse(destination.input, members.valueType, 'invalid_request', message)
}

const readAmount = (
  parent: Input,
  catalog: Catalog,
  { source, destination }: Readonly<Record<QuoteSide, ValueType | undefined>>,
): Amount | undefined => {
  const input = enter(parent, members.amount)
  const name = input && readText(input, members.currency)
  if (input === undefined) return undefined
  const currency = name === undefined ? undefined : catalog.valueType(name)
  if (name !== undefined && currency === undefined)
    refuse(input, members.currency, 'unknown_value_type', notInCatalog(catalog.valueTypes))
  const value = read(input.record, members.value)
  const problem = amountProblem(value, currency?.scale)
  if (value === undefined) refuse(input, members.value, 'missing_field', 'is required')
  else if (problem !== undefined) refuse(input, members.value, problem.code, problem.message)
  else if (!/[1-9]/.test(String(value))) refuse(input, members.value, 'amount_not_positive', 'must be more than zero')
  if (currency === undefined || source === undefined || destination === undefined) return undefined
  if (currency !== source && currency !== destination) {
    const message = 'must be the value type of the side whose amount is fixed: of the source or of the destination'
    refuse(input, members.currency, 'currency_mismatch', message)
  }
  return { value: String(value), currency: currency.name }
}

/**
 * Reads the body that creates a quote; members in either spelling, value types in any of their names. The currency of the amount says which
 * side is fixed.
 *
 * Throws one OutlayError whose `issues` name every broken rule: `missing_field`, `invalid_request`, `unknown_value_type`,
 * `unsupported_flow`, `invalid_amount`, `amount_not_positive`, `amount_too_large`, `amount_too_precise`, `currency_mismatch`.
 */
export const parseQuoteRequest = (body: unknown, catalog: Catalog, options: ParseOptions = {}): QuoteRequest => {
  const input = openInput(body, options)
  const source = readSide(input, 'source', catalog)
  const destination = readSide(input, 'destination', catalog)
  checkSides(source, destination)
  const amount = readAmount(input, catalog, { source: source?.value, destination: destination?.value })
  closeInput(input)
  if (amount === undefined || source?.value === undefined || destination?.value === undefined)
    throw new Error('parseQuoteRequest: nothing was refused and something was not read')
  return { amount, source: { valueType: source.value.name }, destination: { valueType: destination.value.name } }
}

const rateScale = Limits.amountFractionDigits

const ten = (digits: number): bigint => 10n ** BigInt(digits)

const rateUnits = (rate: string): bigint => Amount.toUnits(Amount.of(rate, 'rate'), rateScale)

const convert = (fixed: Amount, rate: string, { source, destination }: QuotedTypes): QuotedAmounts => {
  const units = rateUnits(rate)
  if (fixed.currency === source.name) {
    const exact = Amount.toUnits(fixed, source.scale) * units * ten(destination.scale)
    const whole = exact / ten(rateScale + source.scale)
    const destinationAmount = Amount.fromUnits(whole, destination.name, destination.scale)
    return { rate, fixedSide: 'source', sourceAmount: fixed, destinationAmount }
  }
  const exact = Amount.toUnits(fixed, destination.scale) * ten(rateScale + source.scale)
  const divisor = units * ten(destination.scale)
  const whole = (exact + divisor - 1n) / divisor
  const sourceAmount = Amount.fromUnits(whole, source.name, source.scale)
  return { rate, fixedSide: 'destination', sourceAmount, destinationAmount: fixed }
}

const agrees = (quoted: QuotedAmounts, { source, destination }: QuotedTypes): boolean => {
  const rate = rateUnits(quoted.rate)
  const given = Amount.toUnits(quoted.sourceAmount, source.scale) * rate * ten(destination.scale)
  const taken = Amount.toUnits(quoted.destinationAmount, destination.scale) * ten(rateScale + source.scale)
  const difference = given > taken ? given - taken : taken - given
  return difference < (quoted.fixedSide === 'source' ? ten(rateScale + source.scale) : rate * ten(destination.scale))
}

const sourceShare = (
  quote: Pick<QuotedAmounts, 'sourceAmount' | 'destinationAmount'>,
  part: { readonly before: string; readonly now: string },
  sourceScale: number,
): Amount => {
  const { sourceAmount, destinationAmount } = quote
  const parts = Limits.amountFractionDigits
  const [whole, before, now] = [destinationAmount.value, part.before, part.now].map((value) =>
    Amount.toUnits({ value, currency: destinationAmount.currency }, parts),
  ) as [bigint, bigint, bigint]
  // The digits of a value type may be fewer today than when the quote was given.
  const scale = Math.max(sourceScale, sourceAmount.value.split('.')[1]?.length ?? 0)
  const source = Amount.toUnits(sourceAmount, scale)
  const units = (source * (before + now)) / whole - (source * before) / whole
  return Amount.fromUnits(units, sourceAmount.currency, scale)
}

/** Exact arithmetic of quotes. */
export const Quote = {
  /**
   * The two amounts at a rate, of the one that is fixed. The other one is rounded to the digits of its value type in favour of whoever gives
   * the rate: what is paid down, what is taken up. Throws what `Amount.of` throws for the rate.
   */
  convert,
  /** True when the amounts are what the rate makes of the fixed one, to less than one smallest unit of the other. */
  agrees,
  /**
   * What belongs to a part of the destination amount at the source, after an earlier part: rounded down over all parts so far, so that the shares
   * of all parts are the whole.
   */
  sourceShare,
} as const
