-- Ends held transfers as canceled that a screening has refused. The caller has locked them.
create or replace function {{schema}}.end_refused_by_screening(p_ids text[]) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_ids text[];
  v_sequences integer[];
begin
  with ended as (
    update {{schema}}.transfer t
    set stage = 'settled', status = 'canceled', reason = 'screening_refused', event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    where t.id = any (p_ids)
    returning t.id, t.event_sequence
  )
  select array_agg(e.id), array_agg(e.event_sequence) into v_ids, v_sequences from ended e;
  delete from {{schema}}.hold h where h.transfer_id = any (v_ids);
  perform {{schema}}.queue_remove(array(select {{schema}}.job_id(n.id) from unnest(v_ids) as n (id)));
  perform {{schema}}.record_events(v_ids, v_sequences, array_fill('transfer.canceled'::text, array[cardinality(v_ids)]));
end
$$;
