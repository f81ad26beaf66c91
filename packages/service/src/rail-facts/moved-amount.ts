import { Amount, type Catalog } from '@outlay/core'
import type { RailFlow } from '../rails/port.ts'

/** The value types of both ends of a transfer. */
interface Ends {
  readonly source: { readonly valueType: string }
  readonly destination: { readonly valueType: string }
}

/**
 * What a rail moves of an amount that was asked for without a quote. Money of a bank is in the value type of the bank's leg, which is worth the same:
 * a transfer may be asked for in that of its token.
 */
export function movedAmount(asked: Amount, flow: RailFlow, { source, destination }: Ends): Amount {
  if (flow === 'onramp') return { value: asked.value, currency: source.valueType }
  return flow === 'offramp' ? { value: asked.value, currency: destination.valueType } : asked
}

/** The same from the lines of its end, where money of a bank is in the settlement account. */
export function movedByLines(
  asked: Amount,
  post: readonly { readonly kind: string; readonly value: string }[],
): Amount {
  return { value: asked.value, currency: post.find(({ kind }) => kind === 'settlement')?.value ?? asked.currency }
}

/**
 * What a rail says, in the currency of what it moves: of a transfer that was asked for in another one, it may name either, and did before
 * instructions were in that of the bank.
 */
export function inMovedCurrency<T extends { readonly amount?: Amount | undefined }>(
  said: T,
  { amount, askedCurrency }: { readonly amount: Amount; readonly askedCurrency?: string | undefined },
): T {
  if (said.amount === undefined || said.amount.currency !== askedCurrency) return said
  return { ...said, amount: { value: said.amount.value, currency: amount.currency } }
}

/** True for an amount that can be credited in this currency, with at most this many digits of its fraction. */
export function isCreditable(amount: Amount, currency: string, scale: number): boolean {
  const digits = amount.value.split('.')[1] ?? ''
  return amount.currency === currency && Amount.isPositive(amount) && !/[1-9]/.test(digits.slice(scale))
}

/** Most digits of the fraction of a currency; none of one that the catalog does not have. */
export function scaleOf({ valueType }: Catalog, currency: string | undefined): number {
  return valueType(currency ?? '')?.scale ?? 0
}
