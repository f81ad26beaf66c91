-- Ends a transfer that was never sent, or whose every attempt was answered with a refusal that left nothing behind. One that a
-- reconciliation blocked may be at the service, although this database knows of no attempt; and where the service has the key for
-- another request, that one may have paid. Rows of earlier code do not say so by an unknown outcome.
create or replace function {{schema}}.cancel(p_id text, p_job uuid) returns boolean language plpgsql as $$
declare
  v_sequence integer;
begin
  update {{schema}}.transfer t
  set stage = 'settled', status = 'canceled', reason = null, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
  where t.id = p_id and t.stage in ('queued', 'awaiting_funds', 'blocked') and t.unknown_since is null
    and not (t.stage = 'blocked' and t.reason is not distinct from 'reconcile')
    and not exists (
      select 1 from {{schema}}.attempt a
      where a.transfer_id = t.id and a.attempt = t.attempt and a.step is null and a.outcome = 'key_mismatch')
  returning t.event_sequence into v_sequence;
  if v_sequence is null then
    return false;
  end if;
  perform {{schema}}.queue_remove(array[p_job]);
  perform {{schema}}.record_events(array[p_id], array[v_sequence], array['transfer.canceled']);
  return true;
end
$$;
