-- Ends what is copied before the pause of an account: from here on only what is packed is received. Returns its state here, or null where another move, or the
-- end of this one, has superseded the caller.
create or replace function {{schema}}.move_arrive(p_account_id text, p_move bigint) returns text language plpgsql as $$
declare
  v_state text;
begin
  update {{schema}}.departed_account d set state = 'arriving'
  where d.account_id = p_account_id and d.version = p_move and d.state = 'expecting' returning d.state into v_state;
  return coalesce(v_state, (
    select d.state from {{schema}}.departed_account d
    where d.account_id = p_account_id and d.version = p_move and d.state = 'arriving'));
end
$$;
