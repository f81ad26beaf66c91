-- Drops rows of `moved_row` that the other node has. Returns how many, or null where the account is not in that state of this move.
create or replace function {{schema}}.move_discard(p_account_id text, p_move bigint, p_state text, p_limit integer)
returns integer language plpgsql set lock_timeout = '2s' set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_count integer;
begin
  if not {{schema}}.move_hold(p_account_id, p_move, p_state) then
    return null;
  end if;
  delete from {{schema}}.moved_row m
  where m.ctid = any (array(select d.ctid from {{schema}}.moved_row d where d.account_id = p_account_id limit p_limit));
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
