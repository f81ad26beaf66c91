-- Begins to unpack an account that has arrived and that the other node has handed over: from here on no row is received for it, and no move goes back. Returns
-- the state here, `unpacking` or `here`, or null where another move has superseded the caller.
create or replace function {{schema}}.move_open(p_account_id text, p_move bigint) returns text language plpgsql as $$
declare
  v_state text;
begin
  update {{schema}}.departed_account d set state = 'unpacking'
  where d.account_id = p_account_id and d.version = p_move and d.state = 'arriving' returning d.state into v_state;
  return coalesce(v_state, (
    select d.state from {{schema}}.departed_account d
    where d.account_id = p_account_id and d.version = p_move and d.state in ('unpacking', 'here')));
end
$$;
