-- Ends a held transfer, which the caller has locked, as canceled. False when it is not held, or may have an effect.
create or replace function {{schema}}.reject_held(p_id text, p_job uuid) returns boolean language plpgsql as $$
declare
  v_sequence integer;
begin
  update {{schema}}.transfer t
  set stage = 'settled', status = 'canceled', reason = 'rejected', event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
  where t.id = p_id and t.stage = 'held' and {{schema}}.effect_of(t) = 'none'
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
