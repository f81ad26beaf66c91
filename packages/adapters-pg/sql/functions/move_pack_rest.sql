-- Takes out what an account that leaves has besides its transfers, some rows of each table at a time, and returns how many there were. `p_part` is what goes
-- before the transfers, `first`, so that no worker adopts one that has just left and no batch seems to be empty, or what goes after them, `last`.
create or replace function {{schema}}.move_pack_rest(p_account_id text, p_move bigint, p_part text, p_limit integer)
returns integer language plpgsql set lock_timeout = '2s' set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_accounts text[] := {{schema}}.gateway_accounts(p_account_id);
  v_table text;
  v_count integer;
  v_sum integer := 0;
begin
  if not {{schema}}.move_hold(p_account_id, p_move, 'leaving') then
    return null;
  end if;
  -- While a transfer is here, what holds it back is too.
  if p_part = 'last' and exists (select from {{schema}}.transfer t where t.account_id = p_account_id) then
    return 0;
  end if;
  foreach v_table in array case p_part when 'first' then array['watched_account', 'found_transfer', 'batch']
    else array['account_client', 'account_throttle', 'counterparty', 'early_observation', 'found_transfer', 'return_reading', 'unauthorized_account',
      'account', 'stop', 'closed_batch', 'batch_count', 'batch_change', 'paused_batch', 'resumed_batch'] end
  loop
    execute format(
      'with gone as (
        delete from {{schema}}.%1$I x where x.ctid = any (array(select y.ctid from {{schema}}.%1$I y where %2$s limit $3)) returning x.*)
      insert into {{schema}}.moved_row (account_id, kind, key, content)
      select $1, %1$L, gen_random_uuid()::text, jsonb_build_array(to_jsonb(g)) from gone g', v_table,
      case
        when v_table in ('account', 'batch') then 'y.account_id = $1'
        when v_table = 'stop' then 'y.scope = ''account'' and y.name = $1'
        when v_table like '%\_batch' or v_table like 'batch\_%' then
          'y.batch_id in (select m.content -> 0 ->> ''id'' from {{schema}}.moved_row m where m.account_id = $1 and m.kind = ''batch'')'
        else 'y.account_id = any ($2)' end)
    using p_account_id, v_accounts, p_limit;
    get diagnostics v_count = row_count;
    v_sum := v_sum + v_count;
  end loop;
  if p_part = 'first' then
    delete from {{schema}}.list_reading r where r.account_id = any (v_accounts);
  end if;
  return v_sum;
end
$$;
