-- Ends the packing of an account: from here on its rows in `moved_row` do not change. Returns the table in which something is left, so that nothing ended, or
-- an empty text; null where the account does not leave with this move. Nothing ends, either, while somebody stops or pauses the account in a transaction that is
-- open: what that writes is packed first, and the other rows meanwhile. Nor
-- while two transfers have one id at the service: the later one loses it first.
create or replace function {{schema}}.move_pack_end(p_account_id text, p_move bigint) returns text language plpgsql as $$
declare
  v_left text;
begin
  begin
    perform from {{schema}}.departed_account d
    where d.account_id = p_account_id and d.version = p_move and d.state = 'leaving' for update nowait;
    if not found then
      return null;
    end if;
  exception when lock_not_available then
    return 'departed_account';
  end;
  v_left := {{schema}}.move_left(p_account_id, 'all');
  if v_left is null and {{schema}}.move_part_doubles(p_account_id) > 0 then
    return 'transfer';
  elsif v_left is null then
    update {{schema}}.departed_account d set state = 'packed' where d.account_id = p_account_id;
  end if;
  return coalesce(v_left, '');
end
$$;
