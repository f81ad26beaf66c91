-- Says that no other gateway takes a refused transfer over, for this reason, with the event that is the end of the payment. False where one has, or
-- where that was said before. The lock is that of a resubmission.
create or replace function {{schema}}.end_failover(p_id text, p_reason text) returns boolean language plpgsql as $$
declare
  v_sequence integer;
begin
  perform from {{schema}}.transfer t where t.id = p_id for no key update;
  update {{schema}}.transfer t set reason = p_reason, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
  where t.id = p_id and t.status = 'failed' and t.reason = 'failover'
    and not exists (select from {{schema}}.resubmission r where r.transfer_id = t.id)
  returning t.event_sequence into v_sequence;
  if v_sequence is null then
    return false;
  end if;
  perform {{schema}}.record_events(array[p_id], array[v_sequence], array['transfer.failed']);
  return true;
end
$$;
