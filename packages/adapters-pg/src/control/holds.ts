import {
  type Approval,
  type ApprovalRequirement,
  type HeldState,
  type Hold,
  type HoldName,
  Id,
  type StoredScreening,
} from '@outlay/core'
import { Column, type HoldPort, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'

const heldText = `select t.id, coalesce(t.expires_at <= clock_timestamp(), false) as is_expired,
    (select x.created_by from {{schema}}.transfer_creator x where x.transfer_id = t.id) as created_by,
    {{schema}}.earlier_creators(t.id, t.account_id) as earlier_creators,
    case when t.stage = 'held' then (
      select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('name', h.name, 'policy', nullif(h.policy, ''), 'policyVersion', h.policy_version,
        'why', h.why, 'actor', h.actor, 'requirement', h.requirement, 'excess', h.excess,
        'screening', case when h.name = 'screening' then (
          select jsonb_strip_nulls(jsonb_build_object('case', s.case_id, 'isOnHold', s.on_hold, 'asks', s.asks, 'failures', s.failures,
            'failingSince', {{schema}}.iso(s.failing_since), 'lastError', s.last_error)) from {{schema}}.screening s where s.transfer_id = t.id) end, 'since', {{schema}}.iso(h.since))) order by h.name, h.policy)
      from {{schema}}.hold h where h.transfer_id = t.id) end as holds,
    (select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('actor', a.actor, 'roles', a.roles, 'note', a.note, 'at', {{schema}}.iso(a.approved_at)))
        order by a.approved_at, a.actor)
      from {{schema}}.approval a where a.transfer_id = t.id) as approvals,
    (select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('result', a.result, 'case', a.case_id, 'note', a.note, 'by', a.given_by,
        'isCounted', a.counted, 'fingerprint', a.fingerprint, 'at', {{schema}}.iso(a.answered_at))) order by a.number)
      from {{schema}}.screening_answer a where a.transfer_id = t.id) as screenings
  from {{schema}}.transfer t`

const texts = {
  lock_held: `select t.id from {{schema}}.transfer t where t.id = $1 for no key update`,
  // What others wrote until they unlocked the transfer counts, so it is read by a statement behind the lock.
  held: `${heldText} where t.id = $1`,
  held_of: `${heldText} where t.id = any ($1::text[]) order by t.id`,
  hold_transfer: 'select {{schema}}.hold_transfer($1, $2::uuid, $3, $4) as held',
  add_approval: 'select {{schema}}.add_approval(i.id, $2, $3::text[], $4)::text from unnest($1::text[]) as i (id)',
  release_holds: 'select {{schema}}.release_holds($1, $2::uuid, $3::jsonb, $4) as released',
  was_held_by_people: 'select {{schema}}.was_held_by_people($1) as held',
  reject_held: 'select {{schema}}.reject_held($1, $2::uuid) as rejected',
} as const

/** Makes the store of holds on a driver. */
export function createHoldStore<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
  notifies = true,
): HoldPort<Tx> {
  const sql = statements(tokens, texts)
  const read = (rows: readonly Row[]) => readFirst(readHeldState, rows)
  return {
    async getHolds(transferId, tx) {
      const values = [transferId]
      return read(await (tx === undefined ? driver.query(sql.held, values) : driver.execute(tx, sql.held, values)))
    },
    async getHoldsOf(tx, transferIds) {
      if (transferIds.length === 0) return new Map()
      const rows = await driver.execute(tx, sql.held_of, [transferIds])
      return new Map(rows.map((row) => [readId(row).id, readHeldState(row)]))
    },
    async lockHolds(tx, transferId) {
      await driver.execute(tx, sql.lock_held, [transferId])
      return read(await driver.execute(tx, sql.held, [transferId]))
    },
    async hold(tx, transferId, { actor, reason }) {
      const rows = await driver.execute(tx, sql.hold_transfer, [transferId, Id.toUuid(transferId), actor, reason])
      return readFirst(readHeld, rows)?.held ?? 'claimed'
    },
    async addApproval(tx, transferIds, { actor, roles, note }) {
      await driver.execute(tx, sql.add_approval, [transferIds, actor, roles, note ?? null])
    },
    async releaseHolds(tx, transferId, holds) {
      const named = JSON.stringify(holds.map(({ name, policy }) => ({ name, policy })))
      const values = [transferId, Id.toUuid(transferId), named, notifies]
      return readFirst(readReleased, await driver.execute(tx, sql.release_holds, values))?.released === true
    },
    wasHeldByPeople: async (tx, transferId) =>
      readFirst(readWasHeld, await driver.execute(tx, sql.was_held_by_people, [transferId]))?.held === true,
    async rejectHeld(tx, transferId) {
      const rows = await driver.execute(tx, sql.reject_held, [transferId, Id.toUuid(transferId)])
      return readFirst(readRejected, rows)?.rejected === true
    },
  }
}

const readId = rowDecoder('held transfer', { id: Column.text })
const readHeld = rowDecoder('hold', { held: Column.word<'held' | 'before' | 'claimed'>() })
const readWasHeld = rowDecoder('hold', { held: Column.boolean })
const readReleased = rowDecoder('release', { released: Column.boolean })
const readRejected = rowDecoder('reject', { rejected: Column.boolean })
const readState = rowDecoder('held transfer', {
  isExpired: Column.boolean,
  createdBy: Column.nullable(Column.text),
  earlierCreators: Column.nullable(Column.texts),
  holds: Column.nullable(Column.json<readonly StoredHold[]>()),
  approvals: Column.nullable(Column.json<readonly Approval[]>()),
  screenings: Column.nullable(Column.json<readonly StoredScreening[]>()),
})

/** A hold as the statement builds it. */
interface StoredHold extends Hold {
  readonly name: HoldName
  readonly requirement?: ApprovalRequirement
}

const readHeldState = (row: Row): HeldState => {
  const { earlierCreators, holds, approvals, screenings, ...state } = readState(row)
  return {
    ...{ ...state, earlierCreators: earlierCreators ?? [], holds: holds ?? [] },
    ...{ approvals: approvals ?? [], screenings: screenings ?? [] },
  }
}
