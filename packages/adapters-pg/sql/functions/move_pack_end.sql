-- Ends the packing of an account: from here on its rows in `moved_row` do not change. Returns how many transfers are left, so that nothing ended; null where
-- the account does not leave with this move.
create or replace function {{schema}}.move_pack_end(p_account_id text, p_move bigint) returns integer language plpgsql as $$
declare
  v_left integer;
begin
  perform from {{schema}}.departed_account d
  where d.account_id = p_account_id and d.version = p_move and d.state = 'leaving' for update;
  if not found then
    return null;
  end if;
  v_left := (select count(*) from (select from {{schema}}.transfer t where t.account_id = p_account_id limit 1000) t);
  if v_left = 0 then
    update {{schema}}.departed_account d set state = 'packed' where d.account_id = p_account_id;
  end if;
  return v_left;
end
$$;
