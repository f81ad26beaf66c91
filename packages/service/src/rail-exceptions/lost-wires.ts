import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { afterCommit } from '../database/after-commit.ts'
import { listOf, run, statement } from '../database/statement.ts'
import { isMarked, mayBeSameArrival } from '../rail-facts/arrival.ts'
import { arrivalMarksOf } from '../rail-facts/arrival-marks.ts'
import { markOwnerOf, readFact, type StoredRailFact } from '../rail-facts/rail-facts.ts'
import { reportExceptions } from '../rail-facts/reporting.ts'
import { writeDetails } from '../transfers/details.ts'
import { progressOf, reverseReceipt } from './held-arrivals.ts'

/**
 * Takes from a transfer the wire that a person has given to another one by a fact: its reports of it are open again (`reused_mark`), and the settlement account
 * has its money no more. The caller has locked the transfer. One that has ended keeps what was applied.
 */
export async function takeLostWires(
  tx: Tx,
  context: ServiceContext,
  transferId: string,
  given: StoredRailFact,
): Promise<void> {
  const reports = await run(tx, context, selectReports, [transferId, given.id])
  const takenBy = reports[0]?.givenTo
  const owners = await findOwners(tx, context, reports)
  // What was lost before is no news.
  const isNews = (one: Report) => one.appliedAt !== null || markOwnerOf(one) !== takenBy
  const named = reports.filter(
    (one) => isNews(one) && owners.get(one.id)?.some(({ owner }) => owner === takenBy) === true,
  )
  if (takenBy == null || named.length === 0) return
  const open = named.filter(({ appliedAt }) => appliedAt === null)
  // A transfer is funded by one wire, whatever its reports say.
  const funding = reports.filter(({ appliedAt, hasEnded }) => appliedAt !== null && !hasEnded)
  const applied = funding.some((one) => named.includes(one)) || mayBeAbout(funding, named) ? funding : []
  let isReversed = false
  for (const one of open) isReversed = (await reverseReceipt(tx, context, one)) !== undefined || isReversed
  // A report without a mark may have the receipt.
  const alike = reports.filter((one) => one.appliedAt === null && named.some((other) => isUnmarkedReportOf(one, other)))
  for (const one of isReversed ? [] : alike) {
    if ((await reverseReceipt(tx, context, one)) === undefined) continue
    open.push(one)
    break
  }
  // What has the reference of another transfer is held for that.
  const lost = [...applied, ...open.filter(({ exceptionReason }) => exceptionReason !== 'other_reference')]
  await run(tx, context, reopen, [lost.map(({ id }) => id), takenBy, context.clock.now()])
  if (applied.length > 0) await run(tx, context, forgetDetails, [transferId])
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
  given: StoredRailFact,
  { by, note }: { readonly by: string; readonly note?: string | undefined },
): Promise<ReadonlySet<string>> {
  const { transferId } = given
  if (transferId === null) return new Set()
  const lost = await run(tx, context, selectLost, [transferId])
  const owners = await findOwners(tx, context, lost)
  const own = lost.filter(({ id }) => !owners.has(id))
  const restored = own.map(({ id }) => id)
  await run(tx, context, restore, [restored, context.clock.now(), by, note ?? null])
  const facts = [...own, given].flatMap((one) => progressOf(one) ?? [])
  if (restored.length > 0)
    await writeDetails(
      tx,
      context,
      facts.map((fact) => ({ transferId, fact, post: [] })),
    )
  return new Set(restored)
}

/** The other transfers that have marks of reports, by the ids of the reports. */
async function findOwners(tx: Tx, context: ServiceContext, reports: readonly StoredRailFact[]) {
  const marks = reports.flatMap((one) => {
    const fact = progressOf(one)
    const named = fact === undefined ? [] : arrivalMarksOf(fact)
    return named.map((mark) => ({ ...mark, fact_id: one.id, rail: one.rail, transfer_id: one.transferId }))
  })
  const found = marks.length === 0 ? [] : await run(tx, context, selectOwners, [JSON.stringify(marks)])
  return Map.groupBy(found, ({ factId }) => factId)
}

/** True where reports without a mark may be about the wire that others name. */
function mayBeAbout(unmarked: readonly Report[], named: readonly Report[]): boolean {
  const facts = unmarked.flatMap((one) => progressOf(one) ?? [])
  const others = named.flatMap((one) => progressOf(one) ?? [])
  return !facts.some(isMarked) && facts.some((one) => others.some((other) => mayBeSameArrival(one, other)))
}

function isUnmarkedReportOf(one: Report, other: Report): boolean {
  const [fact, otherFact] = [progressOf(one), progressOf(other)]
  if (fact === undefined || otherFact === undefined || isMarked(fact)) return false
  return fact.amount.value === otherFact.amount.value && mayBeSameArrival(fact, otherFact)
}

const readGiven = rowDecoder('rail fact', { givenTo: Column.nullable(Column.text), hasEnded: Column.boolean })

type Report = ReturnType<typeof readFact> & ReturnType<typeof readGiven>

const selectReports = statement(
  'rail_fact_select_reports',
  `select ${listOf(readFact, 'f')}, (select g.transfer_id from {{schema}}.rail_fact g where g.id = $2) as given_to,
          t.status in ('complete', 'canceled') or (t.status = 'failed' and t.failure -> 'retriable' is distinct from 'true') as has_ended
     from {{schema}}.transfer t
    cross join lateral (select o.* from {{schema}}.rail_fact o where o.transfer_id = t.id offset 0) f
    where t.id = $1 and t.wire_instructions is not null and f.kind in ('accepted', 'settled')
      and (f.applied_at is not null or (
        f.resolved_at is null and ({{schema}}.is_of_transfer(f.exception_reason) or f.exception_reason = 'other_reference')
      ))
    order by f.id`,
  (row) => ({ ...readFact(row), ...readGiven(row) }),
)

const selectLost = statement(
  'rail_fact_select_lost',
  `select ${listOf(readFact)} from {{schema}}.rail_fact
    where transfer_id = $1 and payload ? 'lostAt' and applied_at is null
    order by id`,
  readFact,
)

const selectOwners = statement(
  'arrival_mark_select_owners',
  'select fact_id, owner from {{schema}}.arrival_mark_find($1::jsonb) where is_foreign',
  rowDecoder('mark', { factId: Column.text, owner: Column.text }),
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

// What it says of its source was that of the lost wire.
const forgetDetails = statement(
  'transfer_forget_source',
  `update {{schema}}.transfer
      set source_transaction_id = case when reference_legs in ('source', 'both') then reference end, source_payment_details = null
    where id = $1`,
)

const restore = statement(
  'rail_fact_restore_lost',
  `update {{schema}}.rail_fact
      set applied_at = $2, resolved_at = $2, resolved_by = $3, resolution = 'applied', resolution_note = $4, payload = ${withEarlierResolution}
    where id = any ($1)`,
)
