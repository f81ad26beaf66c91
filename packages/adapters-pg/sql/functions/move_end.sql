-- Ends the part of a move on this node, once nothing of it is left in `moved_row`: the account is `here`, or has `departed`. Returns false where something is
-- left, and null where the account is not in that state of this move.
create or replace function {{schema}}.move_end(p_account_id text, p_move bigint, p_state text, p_end text) returns boolean language plpgsql as $$
begin
  perform from {{schema}}.departed_account d
  where d.account_id = p_account_id and d.version = p_move and d.state in (p_state, p_end) for update;
  if not found then
    return null;
  elsif exists (select from {{schema}}.moved_row m where m.account_id = p_account_id) then
    return false;
  end if;
  update {{schema}}.departed_account d set state = p_end, departed_at = clock_timestamp()
  where d.account_id = p_account_id and d.state <> p_end;
  perform pg_notify('{{channel}}', '') where p_end = 'here';
  return true;
end
$$;
