-- Commands of hosts and operators.
-- Replaced as a whole when it changes; never change a signature, add a new name instead.

-- Ends a transfer that was never sent, or whose every attempt was answered with a refusal that left nothing behind.
create or replace function {{schema}}.cancel(p_id text, p_job uuid) returns boolean language plpgsql as $$
declare
  v_sequence integer;
begin
  update {{schema}}.transfer t
  set stage = 'settled', status = 'canceled', reason = null, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
  where t.id = p_id and t.stage in ('queued', 'awaiting_funds', 'blocked') and t.unknown_since is null
  returning t.event_sequence into v_sequence;
  if v_sequence is null then
    return false;
  end if;
  delete from {{queue_table}} j where j.name = '{{queue}}' and j.id = p_job;
  perform {{schema}}.record_events(array[p_id], array[v_sequence], array['transfer.canceled']);
  return true;
end
$$;

-- Ends the doubt about a blocked transfer as a person says: the service has it under `p_remote_id`, or, where that is null, nothing
-- was or will be paid. Answers with null, with `not_blocked`, or with the id of the account's transfer that has that id already.
create or replace function {{schema}}.resolve(p_id text, p_remote_id text, p_reason text, p_actor text) returns text
language plpgsql as $$
declare
  v_account_id text;
  v_attempt integer;
  v_other text;
  v_said text;
begin
  select t.account_id, t.attempt into v_account_id, v_attempt from {{schema}}.transfer t
  where t.id = p_id and t.stage = 'blocked' and t.status = 'pending' and t.remote_id is null for no key update;
  if not found then
    return 'not_blocked';
  end if;
  -- A request that left a moment ago may still arrive there.
  if p_remote_id is null and exists (
    select 1 from {{schema}}.attempt a
    where a.transfer_id = p_id and a.answered_at is null and a.claimed_at > statement_timestamp() - interval '10 minutes') then
    return 'under_way';
  end if;
  v_said := case when p_remote_id is null then 'A person said that nothing was or will be paid.'
    else 'A person said that it is ' || p_remote_id || '.' end;
  if p_remote_id is not null then
    -- No unique index has these ids, so two that are given the same one wait for each other.
    perform pg_advisory_xact_lock(hashtextextended('outlay resolve ' || v_account_id || ' ' || p_remote_id, 0));
    -- It is nobody else's; where it was adopted meanwhile, the row of that is found below.
    delete from {{schema}}.found_transfer f where f.account_id = v_account_id and f.remote_id = p_remote_id;
    select t.id into v_other from {{schema}}.transfer t where t.remote_id = p_remote_id and t.account_id = v_account_id limit 1;
    if found then
      return v_other;
    end if;
  end if;
  perform {{schema}}.apply_reconciliation(jsonb_build_array(jsonb_build_object(
    'id', p_id, 'attempt', v_attempt, 'remote_id', p_remote_id, 'command', 'resolve',
    'evidence', concat_ws(' ', v_said, 'Reason: ' || p_reason),
    'failure', case when p_remote_id is null then jsonb_build_object('type', 'not_paid', 'code', 'not_paid',
      'detail', concat_ws(' ', v_said, p_reason), 'occurredAt', {{schema}}.iso(clock_timestamp()), 'retriable', false) end)), p_actor);
  return null;
end
$$;
