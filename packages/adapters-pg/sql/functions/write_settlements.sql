-- Writes settlements whose attempt is the current one: transfers, jobs and events. An acceptance of an earlier attempt is never too late
-- for a transfer that waits or is under way: all attempts have one key, so the service has it, whatever a later one is answered. The
-- transfers are locked by the caller. Answers with the ids of those that it wrote. It counts those of batches itself, in one row for each batch.
create or replace function {{schema}}.write_settlements(p_settlements jsonb) returns text[] language plpgsql as $$
declare
  v_ids text[];
  v_event_ids text[]; v_sequences integer[]; v_types text[];
  v_done uuid[]; v_again uuid[];
  v_due_at timestamptz[];
  v_counted text[];
begin
  -- Not a setting of the function: only superusers may give it one of this name.
  perform set_config('outlay_batches.counts', 'written', true);
  with s as materialized (
    select distinct on (s.id) s.* from jsonb_to_recordset(p_settlements) as s (
      id text, job uuid, attempt integer, stage text, status text, failure jsonb, remote_id text, reason text,
      unknown_since timestamptz, reached_at timestamptz, retry_ms bigint, poll_after_ms bigint, events text[], credentials text, outcome text)
    order by s.id, s.remote_id is null, s.attempt desc
  ), placed as materialized (
    -- A plan that is kept from when the table was small would read all of it: one by one, and then by their places, which no other
    -- transaction changes, since they are locked.
    select s.*, l.* from s cross join lateral (select t.ctid as place, t.batch_id || ' ' || t.status || ' ' || t.stage as was from {{schema}}.transfer t where t.id = s.id offset 0) l
  ), changed as (
    update {{schema}}.transfer t
    set stage = s.stage, status = s.status, failure = nullif(s.failure, 'null'::jsonb), remote_id = coalesce(s.remote_id, t.remote_id),
        reason = s.reason,
        -- Never in the future: the clock may have been set back since the claim.
        unknown_since = case when s.unknown_since is not null
          then least(coalesce(t.unknown_since, s.unknown_since), clock_timestamp())
          -- Not even a proof says that what the service accepted before has no effect.
          when s.remote_id is null and s.stage <> 'settled' then (
            select min(a.claimed_at) from {{schema}}.attempt a where a.transfer_id = t.id and a.unmatched) end,
        -- A transfer that a stop kept from leaving goes back as it was, a release included.
        released_at = case when s.outcome = 'stopped' then t.released_at end, reached_at = s.reached_at,
        next_poll_at = clock_timestamp() + s.poll_after_ms * interval '1 millisecond',
        event_sequence = t.event_sequence + coalesce(cardinality(s.events), 0),
        updated_at = clock_timestamp()
    from placed s
    where t.ctid = s.place and (t.attempt = s.attempt and t.stage = 'submitting'
      or s.remote_id is not null and t.remote_id is null and t.stage in ('held', 'queued', 'submitting', 'awaiting_funds', 'blocked'))
    returning t.id, t.account_id, t.attempt, s.job, s.stage, s.retry_ms, s.credentials, s.events, t.event_sequence - coalesce(cardinality(s.events), 0) as base, s.was, s.status
  ), again as (
    select c.job, clock_timestamp() + case
          when c.stage = 'awaiting_funds' and exists (
            select 1 from {{schema}}.account f, {{schema}}.attempt a
            where f.account_id = c.account_id and a.transfer_id = c.id and a.attempt = c.attempt and f.funds_arrived_at > a.claimed_at
          ) then interval '1 second'
          -- The next probe is another transfer; the sweep wakes it.
          when c.credentials = 'refused' then interval '10 years'
          else c.retry_ms * interval '1 millisecond' end as due_at
    from changed c where c.retry_ms is not null
  ), subscribed as (
    select c.id, c.base + e.ordinality::integer as sequence, e.type
    from changed c cross join lateral unnest(c.events) with ordinality as e (type, ordinality)
  )
  select (select array_agg(c.id) from changed c), (select array_agg(c.job) from changed c where c.retry_ms is null),
    (select array_agg(a.job) from again a), (select array_agg(a.due_at) from again a),
    (select array_agg(concat_ws(' ', c.was, c.status, c.stage)) from changed c where c.was is not null),
    array_agg(t.id), array_agg(t.sequence), array_agg(t.type)
  into v_ids, v_done, v_again, v_due_at, v_counted, v_event_ids, v_sequences, v_types
  from subscribed t;
  perform set_config('outlay_batches.counts', '', true);
  if v_counted is not null then perform {{schema}}.count_batched(v_counted); end if;
  -- One that is blocked is held again when a person releases it.
  delete from {{schema}}.hold h using {{schema}}.transfer t where h.transfer_id = any (v_ids) and t.id = h.transfer_id and t.stage <> 'blocked';
  perform {{schema}}.queue_remove(v_done);
  perform {{schema}}.queue_defer(v_again, v_due_at);
  if v_event_ids is not null then
    perform {{schema}}.record_events(v_event_ids, v_sequences, v_types);
  end if;
  return v_ids;
end
$$;
