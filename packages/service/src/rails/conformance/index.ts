import '@outlay/core/node-version'
import { afterAll, describe } from 'vitest'
import { describeCanceledWires, describeCancellations } from './cancellation-cases.ts'
import { describeFacts } from './fact-cases.ts'
import { describePayments } from './payment-cases.ts'
import type { RailsSubject } from './rails-subject.ts'
import { describeVirtualAccounts } from './virtual-account-cases.ts'
import { describeInboundWires } from './wire-cases.ts'

export type {
  InboundWires,
  RailsSubject,
  RetriedPayments,
  VirtualAccountHooks,
} from './rails-subject.ts'

/**
 * Declares the suite that every implementation of `Rails` passes: vitest tests of what the service requires. Call it at
 * the top level of a test file; `open` is called once.
 *
 * @example
 * describeRails('the rails of our bank', async () => ({
 *   connect: async () => bankRails({ url: bank.url, pool }),
 *   instruct: () => ({ ...payout, transferId: nextUlid() }),
 *   settle: (transferId) => bank.settle(transferId),
 *   reject: (transferId) => bank.reject(transferId, 'account_closed'),
 * }))
 */
export function describeRails(name: string, open: () => Promise<RailsSubject>): void {
  describe(name, async () => {
    const subject = await open()
    afterAll(() => subject.close?.())
    describePayments(subject)
    describeCancellations(subject)
    describeFacts(subject)
    if (subject.inboundWires !== undefined) {
      describeInboundWires(subject, subject.inboundWires)
      describeCanceledWires(subject, subject.inboundWires)
    }
    if (subject.virtualAccounts !== undefined) describeVirtualAccounts(subject, subject.virtualAccounts)
  })
}
