import { OutlayError } from '@outlay/core'
import type { Client } from '@outlay/http-client'

/** The payee and the amount of an invoice. */
export interface Invoice {
  /** The application's id. The key of its payout contains it, so that it is paid once however often this runs. */
  readonly id: string
  readonly payee: string
  readonly payeeAddress: string
  /** In dollars, a decimal string. */
  readonly total: string
}

/** Registers a webhook for completed transfers. The secret is returned only here; a real application stores it. */
export async function subscribe(client: Client, accountId: string, url: string): Promise<string> {
  const { secret } = await client.webhooks.create(accountId, { url, eventTypes: ['transfer.completed'] })
  if (secret === undefined) throw new Error('The service gave no secret.')
  return secret
}

/** Finds the account's custodial wallet on Base. */
export async function findWallet(client: Client, accountId: string): Promise<string> {
  for await (const address of client.addresses.iterate(accountId, { type: 'internal' })) {
    if (address.transferTypes.includes('base')) return address.id
  }
  throw new Error('The account has no wallet on Base.')
}

/** Pays an invoice in USDC: registers the payee, then creates the transfer. Both take effect once. */
export async function payInvoice(client: Client, accountId: string, wallet: string, invoice: Invoice): Promise<string> {
  const payee = await client.addresses.createExternal(
    accountId,
    { name: invoice.payee, address: invoice.payeeAddress, transferTypes: ['base'] },
    { idempotencyKey: `payee-of-${invoice.id}` },
  )
  const usdcOnBase = { valueType: 'USDC', transferType: 'base' }
  const { id } = await client.transfers.create(
    accountId,
    {
      amount: { value: invoice.total, currency: 'USD' },
      source: { addressId: wallet, ...usdcOnBase },
      destination: { addressId: payee.id, ...usdcOnBase },
      note: invoice.id,
    },
    { idempotencyKey: `payment-of-${invoice.id}` },
  )
  return id
}

/** Explains why a payout could not be made, and what to do about it. Rethrows other errors. */
export function explain(error: unknown): string {
  if (OutlayError.is(error, 'insufficient_balance')) return 'waits for funds; pay it again, with the same key'
  if (OutlayError.is(error, 'outcome_unknown')) return 'may have been paid; pay it again, with the same key, to know'
  if (OutlayError.is(error, 'invalid_address')) return `is not payable: ${error.field} is wrong`
  throw error
}
