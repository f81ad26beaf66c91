-- The first table in which something of an account that leaves is left; null when there is none. `p_part` is what is packed `first`, what is found by the
-- account (`found`), or `all`: the tables of transfers are asked by the transfers that are packed.
create or replace function {{schema}}.move_left(p_account_id text, p_part text) returns text language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_accounts text[] := {{schema}}.gateway_accounts(p_account_id);
  v_table text;
  v_is_left boolean;
begin
  foreach v_table in array {{schema}}.move_tables(p_part) loop
    execute format('select exists (select from {{schema}}.%1$I y where %2$s)', v_table, {{schema}}.move_condition(v_table))
    into v_is_left using p_account_id, v_accounts;
    if v_is_left then
      return v_table;
    end if;
  end loop;
  if p_part = 'first' then
    return null;
  elsif exists (select from {{schema}}.transfer t where t.account_id = p_account_id) then
    return 'transfer';
  elsif p_part = 'found' then
    return null;
  end if;
  foreach v_table in array {{schema}}.moved_tables() loop
    execute format(
      'select exists (
        select from {{schema}}.moved_row m join {{schema}}.%1$I x on x.transfer_id = m.key where m.account_id = $1 and m.kind = ''transfer'')', v_table)
    into v_is_left using p_account_id;
    if v_is_left then
      return v_table;
    end if;
  end loop;
  return null;
end
$$;
