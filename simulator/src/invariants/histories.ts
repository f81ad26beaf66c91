/** A part of the histories of transfers: in a hot table, or in the pages of the archive. */
const everywhere = (table: 'event' | 'attempt') => `(
  select h.* from outlay.${table} h
  union all
  select h.* from outlay.archive a
  cross join lateral jsonb_each(a.history) as t (id, parts)
  cross join lateral jsonb_populate_recordset(null::outlay.${table}, t.parts -> '${table}s') h
)`

const stored = everywhere('event')

/**
 * SQL of every event of the hosts, stored, archived or only in the row of its transfer; page by page, where `events_of` would open a
 * page for each transfer.
 */
export const allEvents = `(
  select * from ${stored} s
  union all
  select t.id, 1, 'transfer.enqueued', 'queued', 'pending', null, null, null, 0, t.created_at, null from outlay.transfer t
  where t.id not in (select s.transfer_id from ${stored} s where s.sequence = 1)
)`

/** The same of every attempt. */
export const allAttempts = everywhere('attempt')
