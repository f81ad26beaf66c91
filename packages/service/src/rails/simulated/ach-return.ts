import type { TransferFailure } from '@outlay/core'
import { achReturns } from './magic.ts'

/**
 * The failure that a code of the ACH network stands for. `undefined` for a code that is unknown. Retriable means that
 * the payment is presented again by itself.
 */
export function achReturnFailure(code: string, at: Date, retriable = false): TransferFailure | undefined {
  const known = achReturns[code]
  if (known === undefined) return undefined
  return {
    type: 'returned',
    code,
    detail: known.reason,
    occurredAt: at.toISOString(),
    retriable,
    achReturn: { code, ...known },
  }
}
