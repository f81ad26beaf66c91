-- Blocks a transfer that another gateway has taken over and that the first one may have paid. What is under way at the other one cannot be
-- called back: if that accepts it, the row takes its id, and the log shows both.
create or replace function {{schema}}.block_rerouted(p_id text) returns void language plpgsql as $$
declare
  v_sequence integer;
begin
  update {{schema}}.transfer t
  set stage = 'blocked', reason = 'rerouted_in_doubt', unknown_since = coalesce(t.unknown_since, clock_timestamp()),
      event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
  where t.id = p_id and t.status = 'pending' and t.remote_id is null and t.stage in ('queued', 'submitting', 'awaiting_funds')
  returning t.event_sequence into v_sequence;
  if v_sequence is null then
    return;
  end if;
  perform {{schema}}.queue_remove(array[{{schema}}.job_id(p_id)]);
  delete from {{schema}}.submission_slot s where s.transfer_id = p_id;
  perform {{schema}}.record_events(array[p_id], array[v_sequence], array['transfer.blocked']);
end
$$;
