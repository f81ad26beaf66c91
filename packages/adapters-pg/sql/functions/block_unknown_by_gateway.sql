-- Reads the next transfers that the service does not have for certain, in the order of their ids, and blocks those whose outcome
-- is unknown for too long: a transfer of a paused or refused account is not claimed, so nothing else would block it. How long that is, and
-- until when a key may be sent again, is said for each gateway; it is a day for those of which nothing is said. Skips
-- transfers that a person released, and locked ones. `last_id` is null when there was none to read.
create or replace function {{schema}}.block_unknown_by_gateway(p_after text, p_limit integer, p_gateways text[], p_older_ms bigint[], p_last_send_ms bigint[])
returns table (last_id text, blocked integer) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_ids text[];
  v_sequences integer[];
begin
  with page as materialized (
    select t.id, t.stage, t.unknown_since, t.released_at, t.gateway from {{schema}}.transfer t
    where t.remote_id is null and t.status = 'pending' and t.id > p_after order by t.id limit p_limit
  )
  select max(p.id), array_agg(p.id) filter (
    where p.stage in ('queued', 'awaiting_funds') and p.released_at is null
      and p.unknown_since <= clock_timestamp() - coalesce(p_older_ms[array_position(p_gateways, p.gateway)], 86400000) * interval '1 millisecond')
  into last_id, v_ids from page p;
  if v_ids is not null then
    v_ids := array(
      select t.id from {{schema}}.transfer t
      where t.id = any (v_ids) and t.stage in ('queued', 'awaiting_funds') and t.released_at is null
        and t.unknown_since <= clock_timestamp() - coalesce(p_older_ms[array_position(p_gateways, t.gateway)], 86400000) * interval '1 millisecond'
      order by t.id for no key update skip locked);
    with changed as (
      update {{schema}}.transfer t
      set stage = 'blocked', event_sequence = t.event_sequence + 1, updated_at = clock_timestamp(),
        reason = case when t.unknown_since <= clock_timestamp() - p_last_send_ms[array_position(p_gateways, t.gateway)] * interval '1 millisecond'
          then 'key_expired' else 'outcome_unknown' end
      where t.id = any (v_ids) returning t.id, t.event_sequence
    )
    select array_agg(c.id), array_agg(c.event_sequence) into v_ids, v_sequences from changed c;
    perform {{schema}}.queue_remove(array(select {{schema}}.job_id(i.id) from unnest(v_ids) as i (id)));
    if v_ids is not null then
      perform {{schema}}.record_events(v_ids, v_sequences, array_fill('transfer.blocked'::text, array[cardinality(v_ids)]));
    end if;
  end if;
  blocked := coalesce(cardinality(v_ids), 0);
  return next;
end
$$;
