-- Ends the doubt about a transfer that is blocked, that is held in doubt, or that has ended here in doubt, as a person says: the service has it under
-- `p_remote_id`, or, where that is null, nothing was or will be paid. `p_instead_of` is a transfer that has that id and is to lose it. Returns null, `not_blocked`, `under_way`,
-- `accepted`, or the id of the account's transfer that has that id already.
create or replace function {{schema}}.resolve(p_id text, p_remote_id text, p_reason text, p_actor text, p_instead_of text)
returns text language plpgsql as $$
declare
  v_account_id text;
  v_attempt integer;
  v_is_unknown boolean;
  v_other text;
  v_said text := case when p_remote_id is null then 'A person said that nothing was or will be paid.'
    else 'A person said that it is ' || p_remote_id || '.' end;
  v_done boolean := false;
begin
  -- Locks in the order of ids, as all code does.
  perform 1 from {{schema}}.transfer t where t.id in (p_id, p_instead_of) order by t.id for no key update;
  select {{schema}}.gateway_account(t.gateway, t.account_id), t.attempt, t.unknown_since is not null into v_account_id, v_attempt, v_is_unknown from {{schema}}.transfer t
  where t.id = p_id and (t.stage = 'blocked' or t.stage = 'held' and {{schema}}.effect_of(t) <> 'none') and t.status = 'pending' and t.remote_id is null
  for no key update;
  if not found then
    return {{schema}}.resolve_ended(p_id, p_remote_id, concat_ws(' ', v_said, 'Reason: ' || p_reason), p_actor);
  end if;
  -- A request that left a moment ago may still arrive at the service: one without an answer, one whose sender waits no longer, and,
  -- while the outcome is unknown, one whose answer proves nothing.
  if p_remote_id is null and exists (
    select 1 from {{schema}}.attempt a
    where a.transfer_id = p_id and {{schema}}.left_just_now(a)
      and (a.answered_at is null or a.step is null and v_is_unknown
        and (a.outcome = 'unknown' or a.http_status is not null and a.outcome not in ('accepted', 'key_mismatch')))) then
    return 'under_way';
  end if;
  if p_remote_id is null and exists (select 1 from {{schema}}.transfer t where t.id = p_id and {{schema}}.effect_of(t) = 'conflicting') then
    return 'accepted';
  end if;
  if p_remote_id is not null then
    -- Two calls with the same id wait for each other here: the unique index would fail the host's transaction.
    perform pg_advisory_xact_lock(hashtextextended('outlay resolve ' || v_account_id || ' ' || p_remote_id, 0));
    -- It is not to be adopted; if it has just been, its row is found below.
    delete from {{schema}}.found_transfer f where f.account_id = v_account_id and f.remote_id = p_remote_id;
    -- What the service accepted under that id is the transfer that it accepted, whatever a person takes it for.
    select t.id into v_other from {{schema}}.logged_owners(v_account_id, p_remote_id) t where t.id <> p_id;
    if found then
      return v_other;
    end if;
    select t.id into v_other from {{schema}}.transfer t where t.remote_id = p_remote_id and t.account_id = {{schema}}.account_of(v_account_id) and t.gateway = {{schema}}.gateway_of(v_account_id);
    if found and (v_other is distinct from p_instead_of or exists (
      select 1 from {{schema}}.logged_attempts_of(v_other) a
      where a.step is null and a.outcome = 'accepted' and a.remote_id = p_remote_id)) then
      return v_other;
    elsif found then
      perform {{schema}}.release_remote_id(v_other, 'A person said that ' || p_remote_id || ' is the transfer ' || p_id || '.', p_actor);
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
    -- A worker wrote that id in between.
    select t.id into v_other from {{schema}}.transfer t where t.remote_id = p_remote_id and t.account_id = {{schema}}.account_of(v_account_id) and t.gateway = {{schema}}.gateway_of(v_account_id);
    return coalesce(v_other, 'not_blocked');
  end if;
  return null;
end
$$;
