/** A currency or token. Specification: "Conventions", value_type. */
export interface ValueType {
  /** Canonical name, for example `USD`. */
  readonly name: string
  /** Other spellings that are accepted on create, for example `usd`. */
  readonly aliases: readonly string[]
  /** Money at a bank, or a token on a chain. */
  readonly kind: 'fiat' | 'token'
  /** Most digits after the point. */
  readonly scale: number
  /**
   * What one of it is worth one of, for example `USD`; an amount may be given in it. Value types with the same peg are worth the same.
   * By default a value type is worth itself.
   */
  readonly peg: string
}

/** The description of a value type for a catalog. */
export type ValueTypeInput = Omit<ValueType, 'aliases' | 'peg'> & Partial<Pick<ValueType, 'aliases' | 'peg'>>

const defaults = [
  { name: 'USD', kind: 'fiat', scale: 2 },
  { name: 'MXN', kind: 'fiat', scale: 2 },
  { name: 'USDC', kind: 'token', scale: 6, peg: 'USD' },
  { name: 'USDT', kind: 'token', scale: 6, peg: 'USD' },
  { name: 'PYUSD', kind: 'token', scale: 6, peg: 'USD' },
  { name: 'SBC', kind: 'token', scale: 6, peg: 'USD' },
  { name: 'YSBC', kind: 'token', scale: 6, peg: 'USD' },
] as const satisfies readonly ValueTypeInput[]

/** Value types that every catalog has. */
export const defaultValueTypes: readonly ValueTypeInput[] = defaults

/** Name of a value type: one that every catalog has, or one that a host adds. */
export type ValueTypeName = (typeof defaults)[number]['name'] | (string & {})

/** Why value of one type cannot become value of the other one to one; `undefined` when it can. */
export const pegProblem = (
  source: ValueType,
  destination: ValueType,
  hint = 'value moves one to one only, and no rate is known',
): string | undefined =>
  source.peg === destination.peg ? undefined : `must be worth ${source.peg}, as ${source.name} is: ${hint}`
