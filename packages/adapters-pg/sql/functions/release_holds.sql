-- Ends some of what holds a transfer, which the caller has locked: a list of {"name": …, "policy": …}. With the last of it the transfer goes to the outbox.
-- True when it does. Its plans are kept.
create or replace function {{schema}}.release_holds(p_id text, p_job uuid, p_holds jsonb, p_notify boolean) returns boolean language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_left text;
  v_sequence integer;
  v_due_at timestamptz;
  v_is_asked boolean;
begin
  with ended as (
    delete from {{schema}}.hold h using jsonb_to_recordset(p_holds) as r (name text, policy text)
    where h.transfer_id = p_id and h.name = r.name and h.policy = coalesce(r.policy, '')
    returning h.policy, h.counter
  )
  -- Whoever releases what a limit on sums holds lets it go beyond that limit.
  insert into {{schema}}.limit_pass (transfer_id, name) select p_id, e.policy from ended e where e.counter is not null on conflict do nothing;
  select min(h.name) into v_left from {{schema}}.hold h where h.transfer_id = p_id;
  if v_left is not null then
    update {{schema}}.transfer t set reason = v_left, updated_at = clock_timestamp() where t.id = p_id and t.stage = 'held';
    return false;
  end if;
  update {{schema}}.transfer t
  set stage = 'queued', reason = null, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
  where t.id = p_id and t.stage = 'held'
  returning t.event_sequence, t.not_before, exists (
    select from {{schema}}.attempt a where a.transfer_id = t.id and a.answered_at is null) into v_sequence, v_due_at, v_is_asked;
  if v_sequence is null then
    return false;
  end if;
  perform {{schema}}.record_events(array[p_id], array[v_sequence], array['transfer.released']);
  perform {{schema}}.queue_wake(array[p_job], array[v_due_at], array[v_is_asked]);
  perform {{schema}}.queue_ensure(array[p_job], array[v_due_at], array[v_is_asked]);
  if p_notify then
    perform pg_notify('{{channel}}', '');
  end if;
  return true;
end
$$;
