/** A part of the histories of transfers: in a hot table, or in the pages of the archive. */
const everywhere = (table: 'event' | 'attempt') => `(
  select h.* from outlay.${table} h
  union all
  select h.* from outlay.archive a
  cross join lateral jsonb_each(a.history) as t (id, parts)
  cross join lateral jsonb_populate_recordset(null::outlay.${table}, t.parts -> '${table}s') h
)`

/** SQL of every event of the hosts, archived or not; page by page, where `events_of` would open a page for each transfer. */
export const allEvents = everywhere('event')

/** The same of every attempt. */
export const allAttempts = everywhere('attempt')
