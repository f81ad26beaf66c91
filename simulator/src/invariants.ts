import type { Evidence } from './evidence.ts'
import { checkClients, checkLifetimes, checkTimes, checkUnknown } from './invariants-attempts.ts'
import { checkEffects, checkEvents } from './invariants-events.ts'
import { checkLedger } from './invariants-ledger.ts'
import { checkKeys, checkOneEffect, checkSides, checkTenants, checkWaiting } from './invariants-transfers.ts'
import type { Violation } from './violation.ts'

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
