import type { ForeignTransfer } from '../invariants/evidence.ts'
import type { PaymentRule } from '../plan/earlier-payments.ts'
import type { Plan } from '../plan/plan.ts'
import type { PlayerStep } from '../plan/players.ts'
import type { RunContext } from '../workers/run-context.ts'
import type { Worker } from '../workers/worker.ts'

/** A host's transaction that is open. */
export interface Hold {
  readonly accountId: string
  /** Whether it does a second thing, for which another one might have to wait. */
  readonly isLong: boolean
  end(): Promise<void>
}

/** What a run knows of batches. */
export interface BatchNotes {
  /** Ids by their numbers in the plan. */
  readonly ids: Map<number, string>
  /** Attempts of what waited in each paused batch once its pause was seen by everybody, by transfer. */
  readonly paused: Map<string, ReadonlyMap<string, number>>
  /** Attempts of what was canceled with its batch, by transfer. */
  readonly canceled: Map<string, number>
}

/** One run while it goes on. */
export interface Run extends RunContext {
  readonly plan: Plan
  /** The host application: it enqueues and commands, and does no work. */
  readonly office: Worker
  readonly workers: Map<number, Worker>
  readonly retired: Worker[]
  /** Idempotency keys that reached the service. */
  readonly keysSeen: Set<string>
  /** How many requests with each of them did. */
  readonly arrivals: Map<string, number>
  /** Transfers that somebody else made, by their id at the service. */
  readonly foreign: Map<string, ForeignTransfer>
  /** Payouts that a firewall will refuse when they come, with its status. */
  readonly toRefuse: Map<number, number>
  /** Ids at the service of payouts of which a part was paid. */
  readonly paidOtherwise: Set<string>
  /** Accounts whose foreign transfers are adopted. */
  readonly watched: Set<string>
  /** When the service forgot idempotency keys, by its clock. */
  readonly forgottenAt: Date[]
  /** Transactions of hosts that are open. */
  readonly holds: Set<Hold>
  readonly sharesClient: boolean
  readonly batches: BatchNotes
  /** Returns about which a person has said that they never happened, as transfer and identity. */
  readonly dismissed: Set<string>
  /** How banks return payments that were complete when all is done; absent when they do not. */
  returns?: Extract<PlayerStep, { readonly do: 'return' }>
  /** From how many units on payouts have to be approved now; absent while they have not. */
  approvedFrom?: number | undefined
  /** Transfers that were enqueued while they had to be. */
  readonly toApprove: Set<string>
  /** Whether payouts have to be screened now; absent while that changes. */
  screens?: boolean | undefined
  /** Transfers that were enqueued while they had to be. */
  readonly toScreen: Set<string>
  /** Rules of the policies about earlier payments now; absent while they change, or there are none. */
  paymentRules?: readonly PaymentRule[] | undefined
  /** Transfers that were enqueued while such a rule was set: first payments, and those that have to be compared. */
  readonly firstPayments: Set<string>
  readonly toCompare: Set<string>
  /** Moves of accounts that are under way. */
  readonly moves: Set<Promise<string>>
  /** How many have ended so, by what became of them. */
  readonly movesEnded: Map<string, number>
  /** Faults of the network, the server and handlers, and those that befell workers which are gone. */
  faults: number
  /** Workers that were started so far. */
  starts: number
  /** Closes what several workers share, as the end of their processes does. */
  closeCommonGateway(): Promise<void>
  /** Notes the keys that reach the service from now on. */
  watch(): void
}
