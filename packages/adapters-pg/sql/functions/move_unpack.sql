-- Puts rows of `moved_row` into the tables that workers read, up to `p_limit` at a time: at first what holds transfers back or says how they are sent, and what
-- limits on sums have counted, then transfers with all that is theirs, and at last what lets workers adopt transfers or complete batches. Transfers that can be sent wait to be sent; those
-- that were under way only after the heartbeat of whoever had them. Returns how many rows or transfers it put, or null where the account is not in that
-- state of this move.
create or replace function {{schema}}.move_unpack(p_account_id text, p_move bigint, p_state text, p_limit integer)
returns integer language plpgsql set lock_timeout = '2s' set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_ids text[];
  v_kind text;
  v_count integer;
begin
  if not {{schema}}.move_hold(p_account_id, p_move, p_state) then
    return null;
  end if;
  foreach v_kind in array array['account', 'stop', 'paused_batch', 'unauthorized_account', 'account_client', 'account_throttle', 'counterparty',
    'early_observation', 'return_reading', 'closed_batch', 'batch_count', 'batch_change', 'resumed_batch', 'limit_charge', 'transfer', 'found_transfer', 'batch',
    'watched_account']
  loop
    v_ids := array(
      select m.key from {{schema}}.moved_row m where m.account_id = p_account_id and m.kind = v_kind order by m.key limit p_limit for update);
    v_count := cardinality(v_ids);
    if v_count > 0 and v_kind = 'transfer' then
      perform {{schema}}.move_unpack_transfers(p_account_id, v_ids);
    elsif v_count > 0 then
      perform {{schema}}.move_unpack_rest(p_account_id, v_kind, v_ids);
      -- Where the account goes back, it is still counted.
      if v_kind = 'limit_charge' and p_state = 'unpacking' then
        perform {{schema}}.move_charges(v_ids);
      end if;
    end if;
    exit when v_count > 0;
  end loop;
  return v_count;
end
$$;
