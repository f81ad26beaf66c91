-- Refuses a hold that asks for another approval than the policy that it names asks for in the version that it names. Whoever owns the table, and so brings the holds
-- of an account that moves here, writes what the other node had. Its path keeps operators and functions of a caller out.
create or replace function {{schema}}.check_hold() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  v_policy jsonb;
begin
  if pg_has_role(current_user, (select c.relowner from pg_catalog.pg_class c where c.oid = tg_relid), 'member') then
    return new;
  end if;
  select jsonb_path_query_first(v.policies, '$[*] ? (@.name == $name)', jsonb_build_object('name', new.policy)) into v_policy
  from {{schema}}.policy_version v where v.version = new.policy_version;
  if v_policy is null or jsonb_build_object('steps', v_policy -> 'approvals', 'inOrder', coalesce(v_policy -> 'inOrder', 'false')) is distinct from new.requirement then
    raise exception 'The transfer % would be held for another approval than version % of the policy % asks for.', new.transfer_id, new.policy_version, new.policy
      using errcode = 'insufficient_privilege', hint = 'Holds are written by an enqueue, and end by "outlay transfers approve", release or reject.';
  end if;
  return new;
end
$$;
