import type { Violation } from '../violation.ts'
import { checkApprovals } from './approvals.ts'
import { checkClients, checkLifetimes, checkTimes, checkUnknown } from './attempts.ts'
import { checkAudit } from './audit.ts'
import { checkEarlierPayments } from './earlier-payments.ts'
import { checkEffects, checkEvents } from './events.ts'
import type { Evidence } from './evidence.ts'
import { checkLedger } from './ledger.ts'
import { checkQuotes } from './quotes.ts'
import { checkReturns } from './returns.ts'
import { checkScreening } from './screening.ts'
import { checkKeys, checkOneEffect, checkSides, checkTenants, checkWaiting } from './transfers.ts'

/** Checks everything that must hold at the end of a run. */
export async function checkAll(at: Evidence): Promise<readonly Violation[]> {
  const checks = [
    checkOneEffect,
    checkSides,
    checkWaiting,
    checkKeys,
    checkTenants,
    checkEvents,
    checkReturns,
    checkQuotes,
    checkApprovals,
    checkScreening,
    checkEarlierPayments,
    checkAudit,
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
