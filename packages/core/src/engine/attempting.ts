import { Counterparty } from '../counterparty.ts'
import { atGateway } from '../gateway-account.ts'
import type { Backend } from '../ports/backend.ts'
import type { Settlement } from '../ports/claim.ts'
import type { Gateway, SubmitResult } from '../ports/gateway.ts'
import type { ObserveRules } from '../ports/observations.ts'
import type { Runtime } from '../ports/runtime.ts'
import type { WorkHandlers } from '../ports/work.ts'
import type { FailingOver } from './failing-over.ts'
import { decideRegistration, registerCounterparty } from './registration.ts'
import { decideUnsent, findSender, sendTransfer } from './sending.ts'
import { createPermit, putBack } from './stopping.ts'
import { decideSubmission } from './submission.ts'

/** The delay before the next poll, in milliseconds. */
export type PollMs = (accountId: string, transferType: string, polls: number) => number

/** Makes what sends a claimed transfer to its own gateway, and decides about the answer. */
export function createSend<Tx>(
  { backend }: { readonly backend: Backend<Tx> },
  { clock, random, logger }: Runtime,
  { rules, failingOver }: { readonly rules: ObserveRules; readonly failingOver: FailingOver<Tx> | undefined },
  pollMs: PollMs,
) {
  return async (
    gateway: Gateway,
    ...[claim, signal, mayBegin, recordLate]: Parameters<WorkHandlers<Tx>['submit']>
  ): Promise<Settlement> => {
    const permit = createPermit(mayBegin)
    if (!permit.mayBegin()) return putBack(claim)
    const sending = { signal, mayBegin: permit.mayBegin }
    const firstPollMs = pollMs(claim.accountId, claim.request.destination.transferType, 0)
    const { keyLifetimeMs } = gateway
    const { source, destination } = claim.request
    const returnWindowMs = rules.returnWindowMs([source.transferType, destination.transferType], atGateway(claim))
    const always = { firstPollMs, keyLifetimeMs, returnWindowMs }
    const context = () => ({ ...always, now: clock.now(), fraction: random.fraction() })
    const request = Counterparty.registered(claim.request)
    if (request === undefined) {
      const registered = await registerCounterparty(gateway, logger, claim, sending)
      if (permit.isRefused() && registered.outcome === 'throttled') return putBack(claim)
      return decideRegistration(claim, registered, context())
    }
    const sender = await findSender({ backend, gateway }, claim, signal)
    if ('reason' in sender) return decideUnsent(claim, sender, context())
    // It says nothing about the credentials of now.
    const decideLate = (late: SubmitResult) => ({ ...decideSubmission(claim, late, context()), credentials: null })
    const onLateAcceptance = recordLate && ((late: SubmitResult) => recordLate(decideLate(late)))
    const guarded = { ...sending, onLateAcceptance }
    const result = await sendTransfer({ gateway, logger }, claim, request, sender.client, guarded)
    // An answer is one to a request that left before the refusal.
    const { outcome, mayHaveActed, httpStatus } = result
    const isUnsent = outcome === 'throttled' && mayHaveActed !== true && httpStatus === undefined
    if (permit.isRefused() && isUnsent) return putBack(claim)
    const settlement = decideSubmission(claim, result, context())
    return failingOver === undefined ? settlement : failingOver.mark(claim, result, settlement)
  }
}
