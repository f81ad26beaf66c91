import type { EnqueueRequest } from '@outlay/core'

/** Accounts that the transfers are spread over. */
const accounts = 50

/** The n-th transfer: a payout from a wallet to a bank account, with a memo. */
export function sampleTransfer(n: number): EnqueueRequest & { readonly idempotencyKey: string } {
  const account = String(n % accounts).padStart(3, '0')
  return {
    accountId: `01K8ACCT00000000000000${account}`,
    idempotencyKey: `invoice-${n}`,
    amount: { value: `${100 + (n % 900)}.25`, currency: 'USD' },
    source: { addressId: `01K8WALLET000000000000${account}`, valueType: 'USDC', transferType: 'base' },
    destination: {
      addressId: `01K8BANK00000000000000${account}`,
      valueType: 'USD',
      transferType: 'wire',
      wireMemo: `Invoice ${n}`,
    },
  }
}
