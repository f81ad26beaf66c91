import type { Evidence, Violation } from '../invariants.ts'
import { subscriptions } from '../subscriptions.ts'

/** What each subscriber did is what happened, once each and in order per transfer, wherever its history is by now. */
export async function checkEffectsOfArchived(at: Evidence): Promise<readonly Violation[]> {
  const found: Violation[] = []
  for (const { name, types } of subscriptions) {
    const { rows } = await at.lane.host.query<{ readonly id: string; readonly wanted: string; readonly done: string }>(
      compare,
      [name, types],
    )
    for (const { id, wanted, done } of rows)
      found.push({ invariant: 'effects_once', detail: `${name} did ${done} of ${id}, and ${wanted} happened` })
  }
  return found
}

/** Reads each page of the archive once, which `events_of` would do for each of its transfers. */
const compare = `
  with history as (
    select transfer_id, sequence, type from outlay.event
    union all
    select h.key collate "C", (e ->> 'sequence')::integer, e ->> 'type'
    from outlay.archive a, jsonb_each(a.history) h, jsonb_array_elements(h.value -> 'events') e
  ), wanted as (
    select transfer_id as id, string_agg(sequence::text, ' ' order by sequence) as wanted
    from history where type = any ($2) group by 1
  ), done as (
    select transfer_id as id, string_agg(sequence::text, ' ' order by position) as done
    from effect where subscription = $1 group by 1
  )
  select * from wanted full join done using (id) where wanted is distinct from done limit 20`
