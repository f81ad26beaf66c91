-- Why nothing may be written for the account here by a process that takes this database for the node of that name; null when it may.
create or replace function {{schema}}.node_refusal(p_node text, p_account_id text) returns text language plpgsql stable as $$
declare
  v_name text;
  v_departed record;
begin
  select n.name into v_name from {{schema}}.shard_node n;
  if v_name is null then
    return 'unnamed';
  elsif v_name <> p_node then
    return 'other ' || v_name;
  end if;
  select d.to_node, d.state into v_departed from {{schema}}.departed_account d where d.account_id = p_account_id;
  return case v_departed.state when 'here' then null when 'departed' then 'departed ' || v_departed.to_node
    else 'moving ' || v_departed.to_node end;
end
$$;
