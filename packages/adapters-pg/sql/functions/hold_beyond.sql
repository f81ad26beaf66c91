-- Holds transfers beyond limits on sums, each by every limit beyond which it is. The caller has locked them.
create or replace function {{schema}}.hold_beyond(
  p_ids text[], p_counters text[], p_scopes text[], p_began_at timestamptz[], p_until timestamptz[], p_left numeric[]
) returns void language plpgsql as $$
declare
  v_ids text[];
  v_sequences integer[];
begin
  with held as (
    update {{schema}}.transfer t
    set stage = 'held', reason = 'limit', event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    where t.id = any (p_ids)
    returning t.id, t.event_sequence
  )
  select array_agg(h.id), array_agg(h.event_sequence) into v_ids, v_sequences from held h;
  perform {{schema}}.write_excess(p_ids, p_counters, p_scopes, p_began_at, p_until, p_left);
  delete from {{schema}}.submission_slot s where s.transfer_id = any (v_ids);
  perform {{schema}}.queue_remove(array(select {{schema}}.job_id(i.id) from unnest(v_ids) as i (id)));
  perform {{schema}}.record_events(v_ids, v_sequences, array_fill('transfer.held'::text, array[cardinality(v_ids)]));
end
$$;
