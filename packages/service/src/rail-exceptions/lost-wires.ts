import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { afterCommit } from '../database/after-commit.ts'
import { listOf, run, statement } from '../database/statement.ts'
import { isMarked, mayBeSameArrival } from '../rail-facts/arrival.ts'
import { readFact, type StoredRailFact } from '../rail-facts/rail-facts.ts'
import { reportExceptions } from '../rail-facts/reporting.ts'
import { progressOf, reverseReceipt } from './held-arrivals.ts'

/**
 * Takes the wires from a transfer that a person has given to another one: its reports of them are open again (`reused_mark`), and the settlement account has
 * their money no more. The caller has locked the transfer. One that has ended keeps what was applied.
 */
export async function takeLostWires(tx: Tx, context: ServiceContext, transferId: string): Promise<void> {
  const reports = await run(tx, context, selectReports, [transferId])
  const named = reports.filter(({ takenBy }) => takenBy !== null)
  const takenBy = named[0]?.takenBy
  if (takenBy === undefined || takenBy === null) return
  const open = named.filter(({ appliedAt }) => appliedAt === null)
  // A transfer is funded by one wire, whatever its reports say.
  const isFunding = named.some(({ appliedAt, hasEnded }) => appliedAt !== null && !hasEnded)
  const applied = isFunding ? reports.filter(({ appliedAt }) => appliedAt !== null) : []
  let isReversed = false
  for (const one of open) isReversed = (await reverseReceipt(tx, context, one)) !== undefined || isReversed
  // A report without a mark may have the receipt.
  const alike = reports.filter((one) => one.appliedAt === null && named.some((other) => isUnmarkedReportOf(one, other)))
  for (const one of isReversed ? [] : alike) {
    if ((await reverseReceipt(tx, context, one)) === undefined) continue
    open.push(one)
    break
  }
  const lost = [...applied, ...open]
  await run(tx, context, reopen, [lost.map(({ id }) => id), takenBy, context.clock.now()])
  const reason = 'reused_mark'
  const news = lost.filter(({ exceptionReason, resolvedAt }) => exceptionReason !== reason || resolvedAt !== null)
  afterCommit(tx, () =>
    reportExceptions(
      context,
      news.map(({ id, kind, rail }) => ({ id, kind, rail, reason })),
    ),
  )
}

/**
 * The reports of a wire that a transfer had lost are applied again with the one by which a person has given it back, and name it. Resolves with their ids.
 */
export async function restoreWires(
  tx: Tx,
  context: ServiceContext,
  { transferId }: StoredRailFact,
  { by, note }: { readonly by: string; readonly note?: string | undefined },
): Promise<ReadonlySet<string>> {
  const restored = await run(tx, context, restore, [transferId, context.clock.now(), by, note ?? null])
  return new Set(restored.map(({ id }) => id))
}

function isUnmarkedReportOf(one: Report, other: Report): boolean {
  const [fact, otherFact] = [progressOf(one), progressOf(other)]
  if (fact === undefined || otherFact === undefined || isMarked(fact)) return false
  return fact.amount.value === otherFact.amount.value && mayBeSameArrival(fact, otherFact)
}

const readTaken = rowDecoder('rail fact', { takenBy: Column.nullable(Column.text), hasEnded: Column.boolean })

type Report = ReturnType<typeof readFact> & ReturnType<typeof readTaken>

/** The other transfer that has a mark of a fact. */
const takenBy = `
  select max(a.transfer_id) as taken_by
    from (values
      ('source', upper(f.payload #>> '{source,transactionId}')),
      ('imad', upper(regexp_replace(f.payload #>> '{source,paymentDetails,imad}', '\\s', '', 'g')))
    ) as n(kind, mark)
    join {{schema}}.arrival_mark a on a.rail = f.rail and a.kind = n.kind and a.mark = n.mark
   where a.transfer_id <> f.transfer_id`

const selectReports = statement(
  'rail_fact_select_lost',
  `select ${listOf(readFact, 'f')}, m.taken_by,
          t.status in ('complete', 'canceled') or (t.status = 'failed' and t.failure -> 'retriable' is distinct from 'true') as has_ended
     from {{schema}}.transfer t
    cross join lateral (select o.* from {{schema}}.rail_fact o where o.transfer_id = t.id offset 0) f
    cross join lateral (${takenBy}) m
    where t.id = $1 and t.wire_instructions is not null and f.kind in ('accepted', 'settled')
      and (f.applied_at is not null or (f.resolved_at is null and {{schema}}.is_of_transfer(f.exception_reason)))
    order by f.id`,
  (row) => ({ ...readFact(row), ...readTaken(row) }),
)

// What was decided about them before stays in the payload.
const withEarlierResolution = `payload || case when resolved_at is null then '{}' else jsonb_build_object(
  'earlierResolutions', coalesce(payload -> 'earlierResolutions', '[]') || jsonb_build_array(jsonb_build_object(
    'action', resolution, 'by', resolved_by, 'note', resolution_note, 'at', resolved_at
  ))
) end`

// `transfer_lost_wire` reads when what was applied was lost.
const reopen = statement(
  'rail_fact_reopen_lost',
  `update {{schema}}.rail_fact
      set applied_at = null, exception_reason = 'reused_mark',
          resolved_at = null, resolved_by = null, resolution = null, resolution_note = null,
          payload = ${withEarlierResolution} || jsonb_build_object('markOwner', $2::text)
            || case when applied_at is null then '{}' else jsonb_build_object('lostAt', $3::timestamptz) end
    where id = any ($1)`,
)

const restore = statement(
  'rail_fact_restore_lost',
  `update {{schema}}.rail_fact f
      set applied_at = $2, resolved_at = $2, resolved_by = $3, resolution = 'applied', resolution_note = $4, payload = ${withEarlierResolution}
    where f.transfer_id = $1 and f.payload ? 'lostAt' and f.applied_at is null and (${takenBy}) is null
   returning f.id`,
  rowDecoder('rail fact', { id: Column.text }),
)
