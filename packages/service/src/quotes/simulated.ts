import { Amount, Quote, type ValueType } from '@outlay/core'
import { magicInputs } from '../rails/simulated/magic.ts'
import type { QuoteAnswer, QuoteOrder, QuoteProvider } from './port.ts'

/** Fixed rates between pegs. The desk earns the difference between the two ways. */
const rates: Readonly<Record<string, string>> = {
  'USD/MXN': '18.5',
  'MXN/USD': '0.0539',
  'USD/EUR': '0.86',
  'EUR/USD': '1.15',
  'EUR/MXN': '21.4',
  'MXN/EUR': '0.0465',
}

/** How long a quote is open, in milliseconds of virtual time. */
const openMs = 300_000

/** How long one of a magic amount is. */
const soonMs = 1_000

/** Makes the simulated desk for quotes, in virtual time. What a rate does not divide evenly is rounded in its favor. */
export function createSimulatedDesk(clock: { now(): Date }): QuoteProvider {
  return {
    async quote(order, { signal }): Promise<QuoteAnswer> {
      const spell = magicInputs.quotedAmountIs[order.amount.value]
      if (spell === 'hang') await untilAborted(signal)
      const rate = rates[`${order.source.peg}/${order.destination.peg}`]
      if (rate === undefined || spell === 'refuse')
        return refuse(`The desk gives no rate from ${order.source.name} to ${order.destination.name} for this amount.`)
      const { sourceAmount, destinationAmount } = Quote.convert(order.amount, rate, order)
      const isPayable = isAmount(sourceAmount, order.source) && isAmount(destinationAmount, order.destination)
      if (!isPayable) return refuse('The amount is too small or too large for the desk.')
      const expiresAt = new Date(clock.now().getTime() + (spell === 'expire' ? soonMs : openMs)).toISOString()
      return { outcome: 'quoted', rate, sourceAmount, destinationAmount, expiresAt, reference: referenceOf(order) }
    },
  }
}

const refuse = (detail: string): QuoteAnswer => ({ outcome: 'refused', detail })

const referenceOf = ({ quoteId }: QuoteOrder) => `DESK-${quoteId}`

function isAmount(amount: Amount, { scale }: ValueType): boolean {
  try {
    return Amount.isPositive(Amount.parse(amount, { scale }))
  } catch {
    return false
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
