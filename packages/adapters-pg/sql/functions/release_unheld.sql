-- Lets those of these transfers go that nothing holds any more: they go to the outbox. The others say what holds them. The caller has locked them, and ended some of what held
-- them. Returns those that go. Its plans are kept.
create or replace function {{schema}}.release_unheld(p_ids text[], p_notify boolean) returns text[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_ids text[];
  v_jobs uuid[];
  v_sequences integer[];
  v_due_at timestamptz[];
  v_is_asked boolean[];
begin
  update {{schema}}.transfer t set reason = l.name, updated_at = clock_timestamp()
  from (select h.transfer_id, min(h.name) as name from {{schema}}.hold h where h.transfer_id = any (p_ids) group by h.transfer_id) l
  where t.id = l.transfer_id and t.stage = 'held';
  with released as (
    update {{schema}}.transfer t
    set stage = 'queued', reason = null, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    where t.id = any (p_ids) and t.stage = 'held' and not exists (select from {{schema}}.hold h where h.transfer_id = t.id)
    returning t.id, t.event_sequence, t.not_before, exists (
      select from {{schema}}.attempt a where a.transfer_id = t.id and a.answered_at is null) as is_asked
  )
  select array_agg(r.id), array_agg({{schema}}.job_id(r.id)), array_agg(r.event_sequence), array_agg(r.not_before), array_agg(r.is_asked)
  into v_ids, v_jobs, v_sequences, v_due_at, v_is_asked from released r;
  if v_ids is null then
    return '{}';
  end if;
  perform {{schema}}.record_events(v_ids, v_sequences, array_fill('transfer.released'::text, array[cardinality(v_ids)]));
  perform {{schema}}.queue_wake(v_jobs, v_due_at, v_is_asked);
  perform {{schema}}.queue_ensure(v_jobs, v_due_at, v_is_asked);
  if p_notify then
    perform pg_notify('{{channel}}', '');
  end if;
  return v_ids;
end
$$;
