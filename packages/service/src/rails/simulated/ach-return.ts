import type { TransferFailure } from '@outlay/core'
import { achReturns } from './magic.ts'

/**
 * The failure for a return code of the ACH network. `undefined` for an unknown code. Retriable means that the rail presents the
 * payment again automatically.
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
