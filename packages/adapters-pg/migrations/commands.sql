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

-- Takes the id at the service away from a transfer, since a person says that it is another one's: what became of this one is a
-- person's to find out. One that has ended stays as it ended. The caller gives the id to the other one.
create or replace function {{schema}}.give_up_id(p_id text, p_evidence text, p_actor text) returns void language plpgsql as $$
declare
  v_sequence integer;
begin
  with changed as (
    update {{schema}}.transfer t
    set remote_id = null, reason = 'remote_id_taken', follow_at = null,
        stage = case when t.stage = 'settled' then 'settled' else 'blocked' end,
        status = case when t.stage = 'settled' then t.status else 'pending' end,
        failure = case when t.stage = 'settled' then t.failure end,
        unknown_since = case when t.stage <> 'settled' then {{schema}}.first_request_at(t) end,
        attempt = t.attempt + 1, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    where t.id = p_id returning t.id, t.attempt, t.event_sequence
  ), logged as (
    insert into {{schema}}.attempt (transfer_id, attempt, worker, answered_at, outcome, detail)
    select c.id, c.attempt, 'resolve' || coalesce(' by ' || p_actor, ''), clock_timestamp(), 'id_taken', p_evidence from changed c
  )
  select c.event_sequence into v_sequence from changed c;
  perform {{schema}}.record_events(array[p_id], array[v_sequence], array['transfer.blocked']);
end
$$;

-- Ends the doubt about a blocked transfer as a person says: the service has it under `p_remote_id`, or, where that is null, nothing
-- was or will be paid. `p_instead_of` is a transfer that has that id and is to lose it. Answers with null, with `not_blocked` or
-- `under_way`, or with the id of the account's transfer that has that id already.
create or replace function {{schema}}.resolve(p_id text, p_remote_id text, p_reason text, p_actor text, p_instead_of text)
returns text language plpgsql as $$
declare
  v_account_id text;
  v_attempt integer;
  v_other text;
  v_said text;
  v_done boolean := false;
begin
  -- In the order of ids, as everybody locks.
  perform 1 from {{schema}}.transfer t where t.id in (p_id, p_instead_of) order by t.id for no key update;
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
    -- Two that are given the same id wait for each other here: the unique index would fail the host's transaction.
    perform pg_advisory_xact_lock(hashtextextended('outlay resolve ' || v_account_id || ' ' || p_remote_id, 0));
    -- It is nobody else's; where it was adopted meanwhile, the row of that is found below.
    delete from {{schema}}.found_transfer f where f.account_id = v_account_id and f.remote_id = p_remote_id;
    select t.id into v_other from {{schema}}.transfer t where t.remote_id = p_remote_id and t.account_id = v_account_id;
    if found and v_other is distinct from p_instead_of then
      return v_other;
    elsif found then
      perform {{schema}}.give_up_id(v_other, 'A person said that ' || p_remote_id || ' is the transfer ' || p_id || '.', p_actor);
    end if;
  end if;
  begin
    v_done := exists (select 1 from {{schema}}.apply_reconciliation(jsonb_build_array(jsonb_build_object(
      'id', p_id, 'attempt', v_attempt, 'remote_id', p_remote_id, 'command', 'resolve',
      'evidence', concat_ws(' ', v_said, 'Reason: ' || p_reason),
      'failure', case when p_remote_id is null then jsonb_build_object('type', 'not_paid', 'code', 'not_paid',
        'detail', concat_ws(' ', v_said, p_reason), 'occurredAt', {{schema}}.iso(clock_timestamp()), 'retriable', false) end)), p_actor));
  exception when unique_violation then
    null;
  end;
  if not v_done then
    -- A worker has written that id meanwhile.
    select t.id into v_other from {{schema}}.transfer t where t.remote_id = p_remote_id and t.account_id = v_account_id;
    return coalesce(v_other, 'not_blocked');
  end if;
  return null;
end
$$;
