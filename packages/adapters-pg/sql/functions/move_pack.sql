-- Takes transfers of an account that leaves, with all that is theirs, out of the tables that workers read: those of the next `p_limit` keys after
-- `p_after` that no other transaction has locked, none of whose events is being handled, and that are not under way unless `p_all`. Returns how many, and
-- the last of these keys, null at the end. No row means that the account does not leave with this move. It has the rights of its owner: nobody else may
-- delete a transfer, and here its key goes on.
create or replace function {{schema}}.move_pack(p_account_id text, p_move bigint, p_after text, p_limit integer, p_all boolean)
returns table (packed integer, last_key text) language plpgsql security definer
set search_path = pg_catalog, pg_temp set lock_timeout = '2s' set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_ids text[];
  v_table text;
begin
  if not {{schema}}.move_hold(p_account_id, p_move, 'leaving') then
    return;
  end if;
  select array_agg(c.id), (array_agg(c.idempotency_key))[count(*)] into v_ids, last_key from (
    select t.id, t.idempotency_key from {{schema}}.transfer t
    where t.account_id = p_account_id and t.idempotency_key > p_after order by t.idempotency_key limit p_limit
  ) c;
  v_ids := array(
    select t.id from {{schema}}.transfer t where t.id = any (v_ids) and (p_all or t.stage <> 'submitting') order by t.id for update skip locked);
  -- A handler has its event locked until it ends. This lock, unlike others, does not keep it from making the next event of the transfer due then.
  with free as materialized (
    select d.ctid from {{schema}}.subscription s
    join {{schema}}.delivery d on d.subscription = s.name and d.transfer_id = any (v_ids) for key share of d skip locked
  )
  select array(
    select i.id from unnest(v_ids) as i (id) except
    select d.transfer_id from {{schema}}.subscription s join {{schema}}.delivery d on d.subscription = s.name and d.transfer_id = any (v_ids)
    where d.ctid not in (select f.ctid from free f)) into v_ids;
  packed := cardinality(v_ids);
  if packed > 0 then
    foreach v_table in array {{schema}}.moved_tables() loop
      execute format(
        'with gone as (delete from {{schema}}.%1$I x where x.transfer_id = any ($1) returning x.*)
        insert into {{schema}}.moved_row (account_id, kind, key, content)
        select $2, %1$L, g.transfer_id, jsonb_agg(to_jsonb(g) order by to_jsonb(g)::text) from gone g group by g.transfer_id', v_table)
      using v_ids, p_account_id;
    end loop;
    perform {{schema}}.move_pack_others(p_account_id, v_ids);
    with gone as (
      delete from {{schema}}.transfer t where t.id = any (v_ids) returning t.*
    )
    insert into {{schema}}.moved_row (account_id, kind, key, content)
    select p_account_id, 'transfer', g.id, jsonb_build_array(to_jsonb(g) || '{"archive_page": null}') from gone g;
  end if;
  return next;
end
$$;
