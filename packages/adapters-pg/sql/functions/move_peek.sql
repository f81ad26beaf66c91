-- Reads what move_pack() takes of ended transfers, and takes nothing: those of the next `p_limit` keys after `p_after`. What changes later is compared. The
-- last row has the last of these keys, and no kind; without it there are no more. Archived ones are left to the pause, as their history is in pages.
create or replace function {{schema}}.move_peek(p_account_id text, p_after text, p_limit integer) returns table (kind text, key text, content text)
language plpgsql stable set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_ids text[];
  v_last text;
  v_table text;
begin
  select array_agg(c.id) filter (where c.stage = 'settled' and c.archive_page is null), (array_agg(c.idempotency_key))[count(*)] into v_ids, v_last from (
    select t.id, t.idempotency_key, t.stage, t.archive_page from {{schema}}.transfer t
    where t.account_id = p_account_id and t.idempotency_key > p_after order by t.idempotency_key limit p_limit
  ) c;
  if v_ids is not null then
    foreach v_table in array {{schema}}.moved_tables() loop
      return query execute format(
        'select %1$L, x.transfer_id::text, (jsonb_agg(to_jsonb(x) order by to_jsonb(x)::text))::text
        from {{schema}}.%1$I x where x.transfer_id = any ($1) group by x.transfer_id', v_table)
      using v_ids;
    end loop;
    return query select 'transfer', t.id::text, jsonb_build_array(to_jsonb(t) || '{"archive_page": null}')::text from {{schema}}.transfer t where t.id = any (v_ids);
  end if;
  if v_last is not null then
    return query select null::text, v_last, null::text;
  end if;
end
$$;
