import type { ScreeningState } from '@outlay/core'
import { formatFields, formatTable, plural } from '../output/table.ts'
import type { Session } from '../session/session.ts'

type Held = Awaited<ReturnType<Session['engine']['transfers']['holds']>>

/** What holds a transfer, and who has approved it; nothing where neither is so. */
export function formatHeld(held: Held): readonly string[] {
  if (held === undefined) return []
  const { holds, approvals, missing, screenings = [] } = held
  const screening = holds.find((hold) => hold.screening !== undefined)?.screening
  const steps = missing.map(({ roles }) => roles?.join(' or ') ?? 'anybody')
  return [
    ...(holds.length === 0
      ? []
      : [
          formatTable(holds, [
            ['held by', (row) => row.name],
            ['policy', (row) => row.policy ?? null],
            ['since', (row) => row.since],
            ['by', (row) => row.actor ?? null],
            ['why', (row) => row.why],
          ]),
          formatFields([
            ['created by', held.createdBy],
            ['approvals missing', steps.length === 0 ? null : steps.join(', ')],
            ['screening', screening === undefined ? null : describeScreening(screening)],
          ]),
        ]),
    ...(approvals.length === 0
      ? []
      : [
          formatTable(approvals, [
            ['approved by', (row) => row.actor],
            ['at', (row) => row.at],
            ['roles', (row) => row.roles.join(', ')],
            ['note', (row) => row.note ?? null],
          ]),
        ]),
    ...(screenings.length === 0
      ? []
      : [
          formatTable(screenings, [
            ['screening', (row) => (row.isCounted ? row.result : `${row.result}, without effect`)],
            ['case', (row) => row.case ?? null],
            ['by', (row) => row.by],
            ['at', (row) => row.at],
            ['note', (row) => row.note ?? null],
          ]),
        ]),
  ]
}

/** How far the screening is, in a sentence. */
function describeScreening({ isOnHold, case: named, asks, failures, failingSince, lastError }: ScreeningState): string {
  if (isOnHold) return named === undefined ? 'waits for an answer' : `waits for the answer about the case ${named}`
  if (failures > 0) return `no answer in ${plural(failures, 'call')}, since ${failingSince}: ${lastError}`
  return asks === 0 ? 'not asked about yet' : 'asked about'
}
