-- Drops all rows of a table that an account which arrives has here, and of which nothing was packed. Returns false where the account is not arriving with this move.
create or replace function {{schema}}.move_forget(p_account_id text, p_move bigint, p_kind text) returns boolean language plpgsql as $$
begin
  if not {{schema}}.move_hold(p_account_id, p_move, 'arriving') then
    return false;
  end if;
  delete from {{schema}}.moved_row m where m.account_id = p_account_id and m.kind = p_kind;
  return true;
end
$$;
