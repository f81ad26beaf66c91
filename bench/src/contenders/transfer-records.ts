import type { ClientBase } from 'pg'
import type { Database } from '../database.ts'

/*
 * Outlay's tables as a host would use them with statements of its own: a transfer that is being sent, its attempt, the answer, and the
 * event. No statement checks what Outlay checks: identity, stops, limits, credentials, duplicates, or answers that come too late.
 */

/** A transfer whose attempt is written, so that its request may leave. */
export interface Begun {
  readonly id: string
  readonly attempt: number
  readonly submission_key: string
  readonly request: unknown
}

/** Time until the service would be asked for the status of a submitted transfer, in milliseconds. */
const pollAfterMs = 1_800_000

/** Begins an attempt of each transfer that `picked` selects, and writes it down. */
const begin = (picked: string) => `
  with picked as materialized (${picked}),
  begun as (
    update outlay.transfer t
    set stage = 'submitting', attempt = t.attempt + 1, updated_at = clock_timestamp(),
      submission_key = coalesce(t.submission_key, gen_random_uuid()::text)
    from picked p where t.id = p.id
    returning t.id, t.attempt, t.submission_key, t.request
  ), logged as (
    insert into outlay.attempt (transfer_id, attempt, worker) select b.id, b.attempt, $1 from begun b
  )
  select b.* from begun b`

/** Begins the next so many transfers behind an id, without those that others have locked: `worker`, `after`, `limit`. */
const beginNext = {
  name: 'begin_next',
  text: begin(`
    select t.id from outlay.transfer t
    where t.remote_id is null and t.status = 'pending' and t.stage = 'queued' and t.id > $2
    order by t.id limit $3 for no key update skip locked`),
}

/** Begins the transfers of jobs: `worker`, `ids`. */
const beginThese = {
  name: 'begin_these',
  text: begin(`select t.id from outlay.transfer t where t.id = any ($2) and t.stage = 'queued' for no key update`),
}

/** Writes answers, all of one batch at once: `ids`, `attempts`, `remote_ids`, `poll_after_ms`. */
const answer = {
  name: 'answer',
  text: `
  with answer as materialized (select * from unnest($1::text[], $2::integer[], $3::text[]) as a (id, attempt, remote_id)),
  submitted as (
    update outlay.transfer t
    set stage = 'submitted', remote_id = a.remote_id, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp(),
      next_poll_at = clock_timestamp() + $4 * interval '1 millisecond'
    from answer a where t.id = a.id and t.attempt = a.attempt and t.stage = 'submitting'
    returning t.id, t.attempt, t.event_sequence, t.stage, t.status, t.remote_id
  ), answered as (
    update outlay.attempt a set answered_at = clock_timestamp(), outcome = 'accepted', remote_id = s.remote_id
    from submitted s where a.transfer_id = s.id and a.attempt = s.attempt
  )
  insert into outlay.event (transfer_id, sequence, type, stage, status, remote_id, attempt)
  select s.id, s.event_sequence, 'transfer.submitted', s.stage, s.status, s.remote_id, s.attempt from submitted s`,
}

/** Names the worker in the log of attempts. */
const worker = `host:${process.pid}`

/** Begins the next transfers behind an id. */
export const beginNextTransfers = async (client: ClientBase, after: string, limit: number): Promise<readonly Begun[]> =>
  (await client.query<Begun>({ ...beginNext, values: [worker, after, limit] })).rows

/** Begins these transfers. */
export const beginTransfers = async (client: ClientBase, ids: readonly string[]): Promise<readonly Begun[]> =>
  (await client.query<Begun>({ ...beginThese, values: [worker, ids] })).rows

/** Writes the answers of a service that has accepted these transfers. Throws Error when one of them was not under way. */
export async function recordAccepted(client: ClientBase, begun: readonly Begun[], remoteIds: readonly string[]) {
  const values = [begun.map(({ id }) => id), begun.map(({ attempt }) => attempt), remoteIds, pollAfterMs]
  const { rowCount } = await client.query({ ...answer, values })
  if (rowCount !== begun.length) throw new Error(`Of ${begun.length} answers ${rowCount} were recorded.`)
}

/** Holds the plans of this session to indexes: Postgres may make them while the tables are empty, and keeps them. */
export const keepToIndexes = (client: ClientBase) =>
  client.query(
    'set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off',
  )

/**
 * The number of transfers that were submitted by one attempt each, with the answer in its row and with their event. Throws Error when
 * there are other attempts or events.
 */
export async function countRecorded({ count }: Pick<Database, 'count'>): Promise<number> {
  const recorded = await count(`select count(*) from outlay.transfer t
    join outlay.attempt a on a.transfer_id = t.id and a.attempt = 1
    join outlay.event e on e.transfer_id = t.id and e.sequence = 2
    where t.stage = 'submitted' and t.attempt = 1 and t.event_sequence = 2 and t.next_poll_at > t.updated_at
      and t.remote_id = 'remote-' || t.submission_key
      and a.outcome = 'accepted' and a.remote_id = t.remote_id and a.claimed_at < a.answered_at
      and e.type = 'transfer.submitted' and e.stage = 'submitted' and e.remote_id = t.remote_id and e.attempt = 1`)
  const attempts = await count('select count(*) from outlay.attempt')
  const events = await count('select count(*) from outlay.event')
  if (attempts !== recorded || events !== recorded) {
    throw new Error(`${recorded} transfers are recorded as submitted, with ${attempts} attempts and ${events} events.`)
  }
  return recorded
}
