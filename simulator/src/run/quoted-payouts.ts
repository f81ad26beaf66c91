import { OutlayError } from '@outlay/core'
import type { PlayerStep } from '../plan/players.ts'
import { enqueue, tenantOf } from './host-payouts.ts'
import type { Run } from './run-state.ts'

type Quote = Extract<PlayerStep, { readonly do: 'quote' }>

/** A host asks for a quote of what the first of its payouts takes from the wallet, and enqueues all of them with it. */
export async function payWithQuote(at: Run, { tenant: index, payouts, seconds }: Quote): Promise<string> {
  const tenant = tenantOf(at, index)
  const [first] = payouts
  if (first === undefined) return 'it pays nothing'
  const order = {
    amount: tenant.request(first).amount,
    source: { valueType: 'USDC' },
    destination: { valueType: 'MXN' },
  }
  try {
    const { id } = await tenant.client.quotes.create(tenant.accountId, order)
    for (const { number } of payouts) tenant.quotes.set(number, id)
  } catch (error) {
    // The service has removed the account, or a proxy has answered.
    if (!OutlayError.is(error)) throw error
    return `no quote: ${error.code}`
  }
  if (seconds > 0) await at.environment.travel(seconds)
  // Together, so that they reach the service at once.
  const equal = payouts.map((payout) => ({ ...payout, amount: first.amount }))
  return enqueue(at, index, equal, false)
}
