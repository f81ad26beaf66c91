-- Lets a move go back on this node: on the one that the account was leaving it is `returning`, on the other one it has `departed` to the first again, also
-- where that one does not know the move, so that a process that is late begins nothing. Returns the state here, or null where a later move has begun.
create or replace function {{schema}}.move_back(p_account_id text, p_from_node text, p_move bigint, p_is_source boolean)
returns text language plpgsql as $$
declare
  v_state text;
begin
  insert into {{schema}}.departed_account as d (account_id, to_node, version, state)
  values (p_account_id, p_from_node, p_move, case when p_is_source then 'returning' else 'departed' end)
  on conflict (account_id) do update set version = excluded.version, state = excluded.state, to_node = excluded.to_node
  where d.version < p_move or d.version = p_move and d.state in ('leaving', 'packed', 'arriving')
  returning d.state into v_state;
  return coalesce(v_state, (
    select d.state from {{schema}}.departed_account d where d.account_id = p_account_id and d.version = p_move));
end
$$;
