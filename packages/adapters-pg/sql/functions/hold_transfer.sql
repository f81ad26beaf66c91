-- Holds a transfer that was never claimed, as an operator says, or adds that to what holds it. Waits for a claim of this moment, and sees it. Returns
-- `held`; `before` when an operator holds it already; `claimed` when it was claimed once, may have been before a restore, or has ended.
create or replace function {{schema}}.hold_transfer(p_id text, p_job uuid, p_actor text, p_why text) returns text language plpgsql as $$
declare
  v_stage text;
  v_sequence integer;
begin
  select t.stage into v_stage from {{schema}}.transfer t where t.id = p_id for no key update;
  if v_stage = 'held' then
    insert into {{schema}}.hold (transfer_id, name, actor, why) values (p_id, 'operator', p_actor, p_why) on conflict do nothing;
    if not found then
      return 'before';
    end if;
    -- A transaction whose snapshot does not have this hold fails at the lock of the transfer, instead of releasing it.
    update {{schema}}.transfer t set updated_at = clock_timestamp() where t.id = p_id;
    return 'held';
  end if;
  update {{schema}}.transfer t
  set stage = 'held', reason = 'operator', event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
  where t.id = p_id and t.stage = 'queued' and t.attempt = 0 and t.unknown_since is null
  returning t.event_sequence into v_sequence;
  if v_sequence is null then
    return 'claimed';
  end if;
  insert into {{schema}}.hold (transfer_id, name, actor, why) values (p_id, 'operator', p_actor, p_why);
  perform {{schema}}.queue_remove(array[p_job]);
  perform {{schema}}.record_events(array[p_id], array[v_sequence], array['transfer.held']);
  return 'held';
end
$$;
