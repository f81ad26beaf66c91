-- Writes the next version of the policies, which the caller has locked. Without policies there is no row that an enqueue has to compare.
create or replace function {{schema}}.set_policies(p_version integer, p_policies jsonb, p_actor text, p_reason text) returns void language plpgsql as $$
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
