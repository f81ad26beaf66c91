-- Writes the next version of the policies, which the caller has locked, and who has set it into the audit, so that nobody sets them without that. Refuses
-- another version: behind the highest one nobody could set policies any more. Without policies there is no row that an enqueue has to compare. It has the
-- rights of its owner: nobody else writes the tables, so what holds is always a version that stays. Its path keeps operators and functions of a caller out.
create or replace function {{schema}}.set_policies(p_version integer, p_policies jsonb, p_actor text, p_reason text) returns void language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_tag text := gen_random_uuid()::text;
  v_before integer := coalesce((select max(v.version) from {{schema}}.policy_version v), 0);
begin
  if p_version is distinct from v_before + 1 then
    raise exception 'The policies are of version %, so the next one is % and not %.', v_before, v_before + 1, p_version
      using errcode = 'invalid_parameter_value', hint = 'Set them with engine.policies.set or "outlay policies set".';
  end if;
  insert into {{schema}}.policy_version (version, tag, policies, actor, reason) values (p_version, v_tag, p_policies, p_actor, p_reason);
  delete from {{schema}}.policy_state;
  if jsonb_array_length(p_policies) > 0 then
    insert into {{schema}}.policy_state (version, tag) values (p_version, v_tag);
  end if;
  insert into {{schema}}.audit (command, actor, reason, before, after, login)
  values ('policies.set', p_actor, p_reason, jsonb_build_object('version', v_before, 'policies',
      coalesce((select v.policies from {{schema}}.policy_version v where v.version = v_before), '[]')),
    jsonb_build_object('version', p_version, 'policies', p_policies), session_user);
end
$$;
