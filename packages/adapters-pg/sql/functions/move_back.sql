-- Lets a move go back on this node: on the one that the account was leaving it is `returning`, on the other one it has `departed` to the first again, also
-- where that one does not know the move, so that a process that is late begins nothing. A node that has handed the account over does not get it back, and one
-- that unpacks it keeps it, whatever the directory says. Returns the state here, or null where another move has superseded the caller.
create or replace function {{schema}}.move_back(p_account_id text, p_from_node text, p_move bigint, p_is_source boolean)
returns text language plpgsql as $$
declare
  v_state text;
begin
  insert into {{schema}}.departed_account as d (account_id, to_node, version, state)
  values (p_account_id, p_from_node, p_move, case when p_is_source then 'returning' else 'departed' end)
  on conflict (account_id) do update set version = excluded.version, state = excluded.state, to_node = excluded.to_node
  where d.version = p_move and d.state in ('leaving', 'packed', 'expecting', 'arriving')
    or d.version < p_move and d.state = any (
      case when p_is_source then array['leaving', 'packed', 'returning', 'here'] else array['expecting', 'arriving', 'departed'] end)
  returning d.state into v_state;
  if v_state = 'returning' then
    perform {{schema}}.move_part_doubles(p_account_id);
  end if;
  return coalesce(v_state, (
    select d.state from {{schema}}.departed_account d where d.account_id = p_account_id and d.version = p_move));
end
$$;
