import type { Amount, QuoteSide, ValueType } from '@outlay/core'

/** What the service asks a desk for. */
export interface QuoteOrder {
  /** ULID, new for each question. The quote that a client gets has it. */
  readonly quoteId: string
  readonly accountId: string
  /** More than zero, in the value type of the fixed side. */
  readonly amount: Amount
  readonly fixedSide: QuoteSide
  readonly source: ValueType
  /** Never with the peg of the source. */
  readonly destination: ValueType
}

/** The answer of a desk. */
export type QuoteAnswer =
  | {
      readonly outcome: 'quoted'
      /** How many of the destination's value type one of the source's becomes: decimal digits, at most 18 after the point. */
      readonly rate: string
      /** What the desk takes, in the digits of the value type. The one of the two that was asked for is exactly that. */
      readonly sourceAmount: Amount
      /** What the desk gives. The amount that follows from the rate differs from it by less than one smallest unit, either way. */
      readonly destinationAmount: Amount
      /** Until when the desk guarantees the rate, ISO 8601. The service shortens it to 24 hours. */
      readonly expiresAt: string
      /** The desk's own, 1 to 255 characters. The instruction of the rail has it. */
      readonly reference: string
    }
  /** The desk gives no rate. The client reads the detail, at most 500 characters. */
  | { readonly outcome: 'refused'; readonly detail: string }

/**
 * The desk that gives rates between value types with different pegs, and guarantees them. A deployer implements this port for a real one.
 *
 * It may be called from several processes at once, and more than once for a quote that one client creates. Most quotes are never used.
 */
export interface QuoteProvider {
  /**
   * Gives a rate and both amounts, without an effect that needs an end: the desk is not notified that a quote was not used. The service holds no
   * connection meanwhile. When this rejects, takes longer than 10 seconds, or answers with what the types above do not allow, the client
   * gets a 503 and nothing is stored.
   */
  quote(order: QuoteOrder, options: { readonly signal: AbortSignal }): Promise<QuoteAnswer>
}

/** Where quotes come from. */
export interface Quotes {
  readonly provider: QuoteProvider
  /** What their times are compared with: that of the service, or the virtual one of the simulated desk. */
  readonly now: () => Date
}
