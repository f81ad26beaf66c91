-- True while the account is in that state of that move here, and keeps it so until the end of the transaction.
create or replace function {{schema}}.move_hold(p_account_id text, p_move bigint, p_state text) returns boolean language plpgsql as $$
begin
  perform from {{schema}}.departed_account d
  where d.account_id = p_account_id and d.version = p_move and d.state = p_state for share;
  return found;
end
$$;
