import { type Amount, Quote } from '@outlay/core'
import {
  type LedgerLeg,
  type LedgerLine,
  type LedgerPlan,
  owedUnlessOwn,
  planReverse,
  type ReturnedTransfer,
  systemLine,
  walletLine,
} from './ledger.ts'

/** A transfer at the rate of a quote, with the amounts of both sides. */
export interface Conversion {
  readonly source: LedgerLeg
  readonly destination: LedgerLeg
  readonly sourceAmount: string
  readonly destinationAmount: string
}

/**
 * Plans the lines of a transfer with a quote. The exchange account of the source's value type takes what the wallet gives, and that of the
 * destination's gives what arrives, each the amount of the quote: what rounding left over stays in them.
 *
 * Every step sums to zero per value type.
 */
export function planConversion(conversion: Conversion): LedgerPlan {
  const { source, destination, sourceAmount, destinationAmount } = conversion
  const held = walletLine(source, 'held', `-${sourceAmount}`)
  if (held === undefined) throw new Error('A quote is for value that a wallet of the service has.')
  const given = walletLine(destination, 'available', destinationAmount)
  return {
    hold: [
      { ...held, bucket: 'available' },
      { ...held, amount: sourceAmount },
    ],
    post: [
      held,
      exchangeLine(source, sourceAmount),
      exchangeLine(destination, `-${destinationAmount}`),
      given ?? systemLine('outside', destination, destinationAmount),
    ],
    void: [held, { ...held, bucket: 'available', amount: sourceAmount }],
  }
}

/**
 * Plans what comes back of a complete transfer with a quote: the reversal of its end, on both sides, at the rate of the quote. `part.now` is what
 * comes back now and `part.before` what came back earlier, in the destination's value type. What is in a wallet of somebody else does not come
 * back, so the account of the transfer owes it. Resolves with the lines and with what the source gets.
 */
export function planConversionReturn(
  transfer: Pick<ReturnedTransfer, 'accountId' | 'destinationAddressId' | 'post'>,
  quote: { readonly sourceAmount: Amount; readonly destinationAmount: Amount },
  part: { readonly before: string; readonly now: string },
  sourceScale: number,
): { readonly lines: readonly LedgerLine[]; readonly sourceValue: string } {
  const { value: share, currency } = Quote.sourceShare(quote, part, sourceScale)
  const amountOf = (line: LedgerLine) => (line.value === currency ? share : part.now)
  const lines = planReverse(transfer.post)
    .map((line) => ({ ...line, amount: line.amount.startsWith('-') ? `-${amountOf(line)}` : amountOf(line) }))
    // A part may be worth less than the smallest unit of the source.
    .filter(({ amount }) => /[1-9]/.test(amount))
  return { lines: lines.at(-1)?.kind === 'custodial' ? owedUnlessOwn(transfer, lines) : lines, sourceValue: share }
}

function exchangeLine({ valueType }: LedgerLeg, amount: string): LedgerLine {
  return { kind: 'exchange', account: '', address: '', value: valueType, rail: '', bucket: 'available', amount }
}
