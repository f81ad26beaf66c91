-- Ends a transfer that has no effect: it was never sent, or every attempt was answered with a refusal that left nothing behind.
create or replace function {{schema}}.cancel(p_id text, p_job uuid) returns boolean language plpgsql as $$
declare
  v_sequence integer;
begin
  update {{schema}}.transfer t
  set stage = 'settled', status = 'canceled', reason = null, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
  where t.id = p_id and t.stage in ('held', 'queued', 'awaiting_funds', 'blocked') and {{schema}}.effect_of(t) = 'none'
  returning t.event_sequence into v_sequence;
  if v_sequence is null then
    return false;
  end if;
  delete from {{schema}}.hold h where h.transfer_id = p_id;
  perform {{schema}}.queue_remove(array[p_job]);
  perform {{schema}}.record_events(array[p_id], array[v_sequence], array['transfer.canceled']);
  return true;
end
$$;
