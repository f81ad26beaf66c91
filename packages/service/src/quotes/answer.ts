import { Amount, OutlayError, Quote, type QuotedAmounts, type ValueType } from '@outlay/core'
import { z } from 'zod'
import type { QuoteOrder } from './port.ts'

/** A checked answer of a desk. */
export interface AgreedAnswer extends QuotedAmounts {
  readonly reference: string
  readonly expiresAt: Date
}

/** What keeps an answer of a desk from being used. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer'
}

/** Longest guarantee that the service keeps, in milliseconds. */
const longestMs = 24 * 3_600_000

const storable = z.string().refine((text) => text.isWellFormed() && !text.includes('\u0000'))
const amount = z.object({ value: z.string(), currency: z.string() })
const answerSchema = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('quoted'),
    rate: z.string(),
    sourceAmount: amount,
    destinationAmount: amount,
    expiresAt: z.iso.datetime({ offset: true }),
    reference: storable.min(1).max(255),
  }),
  z.object({ outcome: z.literal('refused'), detail: storable.min(1).max(500) }),
])

/**
 * Checks what a desk answered to an order: each amount in its value type and more than zero, the one that was asked for unchanged, a rate that
 * agrees with both, and a time to come. Nothing of it is taken on trust, since both amounts are booked as they are.
 *
 * @throws OutlayError `quote_refused`.
 * @throws UnusableAnswer naming the member.
 */
export function checkAnswer(order: QuoteOrder, answered: unknown, now: Date): AgreedAnswer {
  const read = answerSchema.safeParse(answered)
  if (!read.success) {
    const member = read.error.issues[0]?.path.join('.')
    throw new UnusableAnswer(`${member || 'the answer'} is not as the port describes it`)
  }
  const answer = read.data
  if (answer.outcome === 'refused') throw new OutlayError('quote_refused', answer.detail, { field: 'amount.value' })
  const { source, destination, fixedSide } = order
  const rate = parse('rate', { value: answer.rate, currency: 'rate' }, {})
  if (!Amount.isPositive(rate)) throw new UnusableAnswer('rate must be more than zero')
  const quoted = {
    ...{ rate: answer.rate, fixedSide, reference: answer.reference },
    sourceAmount: checkAmount('sourceAmount', answer.sourceAmount, source),
    destinationAmount: checkAmount('destinationAmount', answer.destinationAmount, destination),
  }
  const fixed = fixedSide === 'source' ? quoted.sourceAmount : quoted.destinationAmount
  if (!Amount.equals(fixed, order.amount)) throw new UnusableAnswer(`${fixedSide}Amount is not what was asked for`)
  if (!Quote.agrees(quoted, order)) throw new UnusableAnswer('rate does not agree with the amounts')
  const expires = Date.parse(answer.expiresAt)
  if (!(expires > now.getTime())) throw new UnusableAnswer('expiresAt is over')
  return { ...quoted, expiresAt: new Date(Math.min(expires, now.getTime() + longestMs)) }
}

function checkAmount(name: string, given: Amount, { name: currency, scale }: ValueType): Amount {
  const amount = parse(name, given, { scale, currency })
  if (!Amount.isPositive(amount)) throw new UnusableAnswer(`${name} must be more than zero`)
  return amount
}

function parse(field: string, given: Amount, options: { readonly scale?: number; readonly currency?: string }): Amount {
  try {
    return Amount.parse(given, { field, ...options })
  } catch (error) {
    throw new UnusableAnswer((error as Error).message)
  }
}
