import { formatFields, formatTable } from '../output/table.ts'
import type { Session } from '../session/session.ts'

type Held = Awaited<ReturnType<Session['engine']['transfers']['holds']>>

/** What holds a transfer, and who has approved it; nothing where neither is so. */
export function formatHeld(held: Held): readonly string[] {
  if (held === undefined) return []
  const { holds, approvals, missing } = held
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
  ]
}
