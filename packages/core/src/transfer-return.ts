import type { Amount } from './amount.ts'

/** Money of a complete transfer that came back later. The status of the transfer stays `complete`. */
export interface TransferReturn {
  /** Code of the rail, for example `R10`; `unknown` where the service gives none. */
  readonly code: string
  /** How much came back; null where the service does not say, or not so that it can be read. */
  readonly amount: Amount | null
  /** What the source got of it, at the rate of the quote; absent without a quote, and where the service does not say it. */
  readonly sourceAmount?: Amount | undefined
  /** When it came back, ISO 8601, UTC; null where the service does not say. */
  readonly occurredAt: string | null
}

/** A return that says how much came back. */
export interface ReturnedAmount extends TransferReturn {
  readonly amount: Amount
}

/** A return with what distinguishes it from all others of its transfer. */
export interface IdentifiedReturn extends TransferReturn {
  readonly identity: string
}

const digitsOf = (value: string): string => (value.includes('.') ? value.replace(/\.?0+$/, '') : value)

const timeOf = (occurredAt: string | null): string => {
  const ms = Date.parse(occurredAt ?? '')
  return Number.isNaN(ms) ? '-' : String(ms)
}

const identify = (returns: readonly TransferReturn[]): readonly IdentifiedReturn[] => {
  const alike = new Map<string, number>()
  return returns.map((one) => {
    const { code, amount, occurredAt } = one
    const money = amount === null ? '-' : `${digitsOf(amount.value)} ${amount.currency}`
    const content = `${timeOf(occurredAt)} ${money} ${code}`
    const number = (alike.get(content) ?? 0) + 1
    alike.set(content, number)
    return { ...one, identity: `${content} ${number}` }
  })
}

/** Rules of returns. */
export const TransferReturn = {
  /**
   * Gives each return of one transfer its identity: its content, and a number among those with the same content. Every report has all
   * returns of its transfer, so a return has the same identity in each report, in whatever order they come.
   */
  identify,
} as const
