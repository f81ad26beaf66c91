-- Takes out what an account that leaves has besides its transfers, some rows of each table at a time that no other transaction has locked, and returns how many
-- there were. `p_part` is what goes before the transfers, `first`, or what goes after them, `last`.
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
  foreach v_table in array {{schema}}.move_tables(p_part) loop
    execute format(
      'with gone as (
        delete from {{schema}}.%1$I x where x.ctid = any (array(select y.ctid from {{schema}}.%1$I y where %2$s limit $3 for update of y skip locked)) returning x.*)
      insert into {{schema}}.moved_row (account_id, kind, key, content)
      select $1, %1$L, %3$s, jsonb_build_array(to_jsonb(g)) from gone g', v_table, {{schema}}.move_condition(v_table),
      case when v_table = 'batch' then 'g.id' else 'gen_random_uuid()::text' end)
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
