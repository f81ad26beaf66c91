-- Gives an account up for the other node, for good: only after that the other one unpacks it, and nothing takes the account back here. Returns the state here,
-- `handed_over`, or `departed` where what was kept of it has been dropped; null where another move, or its way back, has superseded the caller.
create or replace function {{schema}}.move_hand_over(p_account_id text, p_move bigint) returns text language plpgsql as $$
declare
  v_state text;
begin
  update {{schema}}.departed_account d set state = 'handed_over'
  where d.account_id = p_account_id and d.version = p_move and d.state = 'packed' returning d.state into v_state;
  return coalesce(v_state, (
    select d.state from {{schema}}.departed_account d
    where d.account_id = p_account_id and d.version = p_move and d.state in ('handed_over', 'departed')));
end
$$;
