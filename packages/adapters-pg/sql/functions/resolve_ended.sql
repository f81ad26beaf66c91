-- Ends the doubt about a transfer that has ended here, as a person says, and answers as resolve() does. The row stays as it ended: with an
-- id its log says that the service has it under that id.
create or replace function {{schema}}.resolve_ended(p_id text, p_remote_id text, p_evidence text, p_actor text)
returns text language plpgsql as $$
declare
  v_account_id text;
  v_other text;
begin
  select {{schema}}.gateway_account(t.gateway, t.account_id) into v_account_id from {{schema}}.transfer t
  where t.id = p_id and {{schema}}.ended_in_doubt(t) for no key update;
  if not found then
    return 'not_blocked';
  end if;
  if p_remote_id is not null then
    select o.id into v_other from (
      -- An adopted one keeps the id: it stands for what was paid.
      select t.id from {{schema}}.transfer t
      where t.remote_id = p_remote_id and t.account_id = {{schema}}.account_of(v_account_id) and t.gateway = {{schema}}.gateway_of(v_account_id) and t.idempotency_key not like 'adopted %'
      union all
      select t.id from {{schema}}.logged_owners(v_account_id, p_remote_id) t where t.id <> p_id) o limit 1;
    if found then
      return v_other;
    end if;
    delete from {{schema}}.found_transfer f where f.account_id = v_account_id and f.remote_id = p_remote_id;
  end if;
  update {{schema}}.attempt a set unmatched = false where a.transfer_id = p_id and a.unmatched and a.remote_id is null;
  with numbered as (
    update {{schema}}.transfer t set attempt = t.attempt + 1, updated_at = clock_timestamp() where t.id = p_id returning t.attempt
  )
  insert into {{schema}}.attempt (transfer_id, attempt, worker, answered_at, outcome, detail, remote_id, unmatched, unmatched_id)
  select p_id, n.attempt, 'resolve' || coalesce(' by ' || p_actor, ''), clock_timestamp(), 'resolved', p_evidence, p_remote_id,
    case when p_remote_id is not null then true end, p_remote_id
  from numbered n;
  return null;
end
$$;
