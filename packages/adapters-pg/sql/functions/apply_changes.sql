-- Applies status changes to transfers that the caller has locked, and counts those of batches, in one row for each batch.
create or replace function {{schema}}.apply_changes(p_changes jsonb) returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  v_count integer;
  v_event_ids text[];
  v_sequences integer[];
  v_types text[];
  v_counted text[];
begin
  perform set_config('outlay_batches.counts', 'written', true);
  with s as materialized (
    select * from jsonb_to_recordset(p_changes) as s (
      id text, stage text, status text, failure jsonb, reached_at timestamptz, events text[])
  ), placed as materialized (
    -- A plan that is kept from when the table was small would read all of it: one by one, and then by their places.
    select s.*, l.* from s cross join lateral (
      select t.ctid as place, t.batch_id || ' ' || t.status || ' ' || t.stage as was from {{schema}}.transfer t where t.id = s.id offset 0) l
  ), changed as (
    update {{schema}}.transfer t
    set stage = s.stage, status = s.status, failure = nullif(s.failure, 'null'::jsonb), reason = null,
        reached_at = s.reached_at, unknown_since = null, next_poll_at = case when s.stage = 'submitted' then t.next_poll_at end,
        event_sequence = t.event_sequence + coalesce(cardinality(s.events), 0),
        updated_at = clock_timestamp()
    from placed s where t.ctid = s.place
    returning t.id, s.events, t.event_sequence - coalesce(cardinality(s.events), 0) as base, s.was, s.status, s.stage
  ), subscribed as (
    select c.id, c.base + e.ordinality::integer as sequence, e.type
    from changed c cross join lateral unnest(c.events) with ordinality as e (type, ordinality)
  )
  select (select count(*) from changed),
    (select array_agg(concat_ws(' ', c.was, c.status, c.stage)) from changed c where c.was is not null),
    array_agg(t.id), array_agg(t.sequence), array_agg(t.type)
  into v_count, v_counted, v_event_ids, v_sequences, v_types
  from subscribed t;
  perform set_config('outlay_batches.counts', '', true);
  if v_counted is not null then
    perform {{schema}}.count_batched(v_counted);
  end if;
  if p_changes @? '$[*].return_window_ms' then
    perform {{schema}}.open_return_windows(p_changes);
  end if;
  if v_event_ids is not null then
    perform {{schema}}.record_events(v_event_ids, v_sequences, v_types);
    -- A return may be known before its completion.
    if exists (
      select 1 from {{schema}}.transfer_return r
      where r.transfer_id = any (v_event_ids) and r.sequence is null and r.problem is null) then
      perform {{schema}}.apply_returns(v_event_ids);
    end if;
  end if;
  return v_count;
end
$$;
