import { checkClients, checkLifetimes, checkTimes, checkUnknown } from './invariants-attempts.ts'
import { checkEffects, checkEvents } from './invariants-events.ts'
import { checkLedger } from './invariants-ledger.ts'
import { checkKeys, checkOneEffect, checkSides, checkTenants, checkWaiting } from './invariants-transfers.ts'
import type { Lane } from './lane.ts'
import type { Tenant } from './tenant.ts'

/** What must hold, by name. */
export const invariants = {
  one_effect: 'One transfer at the service for each committed payout, none for one that was rolled back.',
  same_on_both_sides: 'Status, amount and failure are equal on both sides.',
  status_path: 'Every history of a status is a path in the table of transitions.',
  nothing_stuck: 'What is not final waits for something that has a name, and in the end nothing is left.',
  ledger: 'Entries sum to zero, no balance is below zero, balances are what their entries say.',
  effects_once: 'What each subscriber did is what happened: once each, in order per transfer.',
  keys: 'No key stands for two requests, and the log of attempts has no holes.',
  tenants_apart: 'Nothing of one tenant is seen by another.',
  judge: 'The judge, who knows only what was recorded from outside, finds every promise kept.',
  never_before_its_time: 'Nothing is sent before its time.',
  key_lifetime: 'No key is sent beyond its lifetime after an attempt that was not answered.',
  unknown_is_bounded: 'An outcome that stays unknown for a day waits for a person, whatever else is answered.',
  one_client_while_unknown: 'No key reaches the service for one account from two of its clients.',
  events_reach_their_handler: 'A handler is given every event of the types that it asked for, and no other.',
  tenant_served: 'A tenant whose own side is well is served, whatever others do.',
  host_is_no_victim: 'No transaction of a host is aborted for a deadlock with workers.',
  host_pool_is_clean: 'Statements of a host on the pool that it shares with the engine do what they do without it.',
} as const

/** Name of an invariant. */
export type InvariantName = keyof typeof invariants

/** Something that must not be. */
export interface Violation {
  readonly invariant: InvariantName
  readonly detail: string
}

/** A transfer that somebody else made at the service. */
export interface ForeignTransfer {
  readonly accountId: string
  /** True when the account was watched already, so that it has to be adopted. */
  readonly watched: boolean
}

/** A check all along. */
export interface Watch {
  readonly violations: readonly Violation[]
  look(): Promise<void>
}

/** What the checks look at: both databases, whose money it is, and what was noted on the way. */
export interface Evidence {
  readonly lane: Pick<Lane, 'host' | 'service'>
  readonly tenants: readonly (Pick<Tenant, 'accountId' | 'client' | 'funded'> & Partial<Pick<Tenant, 'clientIds'>>)[]
  /** Idempotency keys that reached the service. */
  readonly keysSeen: ReadonlySet<string>
  /** Transfers that somebody else made, by their id at the service. */
  readonly foreign: ReadonlyMap<string, ForeignTransfer>
  /** What went wrong in a way that is never right, whatever the faults. */
  readonly mistakes: readonly Violation[]
  /** True when one client of the service has the accounts of all tenants. */
  readonly sharesClient?: boolean
  /** Attempts that were given to the gateway, as transfer and attempt. */
  readonly sent?: ReadonlySet<string>
}

/** Checks everything that must hold at the end of a run. */
export async function checkAll(at: Evidence): Promise<readonly Violation[]> {
  const checks = [
    checkOneEffect,
    checkSides,
    checkWaiting,
    checkKeys,
    checkTenants,
    checkEvents,
    checkEffects,
    checkLedger,
    checkTimes,
    checkLifetimes,
    checkUnknown,
    checkClients,
  ]
  const found: Violation[] = [...at.mistakes]
  for (const check of checks) found.push(...(await check(at)))
  return found
}
