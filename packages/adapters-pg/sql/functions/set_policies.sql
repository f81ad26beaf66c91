-- Writes the next version of the policies, which the caller has locked. Without policies there is no row that an enqueue has to compare. It has the rights of
-- its owner: nobody else writes the tables, so what holds is always a version that stays. Its path keeps operators and functions of a caller out.
create or replace function {{schema}}.set_policies(p_version integer, p_policies jsonb, p_actor text, p_reason text) returns void language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_tag text := gen_random_uuid()::text;
begin
  insert into {{schema}}.policy_version (version, tag, policies, actor, reason) values (p_version, v_tag, p_policies, p_actor, p_reason);
  delete from {{schema}}.policy_state;
  if jsonb_array_length(p_policies) > 0 then
    insert into {{schema}}.policy_state (version, tag) values (p_version, v_tag);
  end if;
end
$$;
