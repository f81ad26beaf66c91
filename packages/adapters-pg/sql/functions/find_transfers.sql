-- Ids of transfers that match a filter, the newest first, and at the end a row with where to go on, when there may be more. It reads at most
-- twenty thousand transfers, and returns what it has found among them: the smallest set that an index gives, or the transfers by
-- their ids from the newest on. The plans are kept, and held to indexes: they may be made while the tables are empty.
create or replace function {{schema}}.find_transfers(p_filter jsonb, p_limit integer)
returns table (id text, next_id text) language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  c_most constant integer := 20000;
  c_small constant integer := 5000;
  v_metadata jsonb := p_filter -> 'metadata';
  v_account_id text := p_filter ->> 'account_id'; v_batch_id text := p_filter ->> 'batch_id'; v_stage text := p_filter ->> 'stage';
  -- In whatever way the amount is written, it has these digits.
  v_digits text := coalesce(nullif(ltrim(split_part(p_filter ->> 'amount', '.', 1), '0'), ''), rtrim(split_part(p_filter ->> 'amount', '.', 2), '0'));
  v_from text := '';
  -- Ids are digits and upper-case letters, which are before it.
  v_place text := coalesce(p_filter ->> 'cursor', '~');
  v_pair record;
  v_by text := 'id';
  v_window integer := least(greatest(4 * p_limit, 200), c_small);
  v_read integer := 0; v_ids text[];
  v_found text[] := '{}';
begin
  select p.name, p.value, c.size into v_pair from jsonb_each_text(v_metadata) as p (name, value)
  cross join lateral (
    select count(*)::integer as size from (
      select from {{schema}}.transfer_metadata m where m.name = p.name and m.value = p.value limit c_small) s) c order by c.size, p.name limit 1;
  if v_pair.size < c_small then
    v_by := 'pair';
  elsif v_account_id is not null and (
    select count(*) from (select from {{schema}}.transfer t where t.account_id = v_account_id limit c_small) s) < c_small then
    v_by := 'account';
    v_window := c_small;
  elsif v_batch_id is not null or v_pair.size is not null then
    v_by := case when v_batch_id is null then 'pair' else 'batch' end;
  elsif v_stage in ('held', 'queued', 'submitting', 'awaiting_funds', 'blocked') then
    v_by := 'open';
  end if;
  if v_by = 'id' or v_pair.size = c_small and v_by = 'pair' then
    -- By their ids, whose time is that of the enqueue, unless a host has made one long before.
    select least(v_place collate "C", p_filter ->> 'to_id'), coalesce(p_filter ->> 'from_id', '') into v_place, v_from;
  end if;

  while v_place is not null and cardinality(v_found) <= p_limit and v_read < c_most loop
    v_ids := {{schema}}.search_window(v_by, v_pair.name, v_pair.value, v_account_id, v_batch_id, v_place, v_from, v_window);
    v_read := v_read + cardinality(v_ids);
    v_found := v_found || array(
      select t.id from unnest(v_ids) with ordinality as u (id, position)
      cross join lateral (select t.* from {{schema}}.transfer t where t.id = u.id offset 0) t
      where (v_account_id is null or t.account_id = v_account_id) and (v_stage is null or t.stage = v_stage)
        and (v_batch_id is null or t.batch_id = v_batch_id)
        and (p_filter ->> 'status' is null or t.status = p_filter ->> 'status') and (p_filter ->> 'reason' is null or t.reason = p_filter ->> 'reason')
        and (p_filter ->> 'gateway' is null or t.gateway = p_filter ->> 'gateway')
        and (p_filter ->> 'currency' is null or lower(t.request -> 'amount' ->> 'currency') = lower(p_filter ->> 'currency'))
        and (v_digits is null or strpos(t.request -> 'amount' ->> 'value', v_digits) > 0 and {{schema}}.amount_of(t.request -> 'amount') = (p_filter ->> 'amount')::numeric)
        and (p_filter ->> 'payee' is null or lower(p_filter ->> 'payee') in (
          lower(t.request -> 'destination' ->> 'addressId'), lower(t.request -> 'destination' -> 'address' ->> 'name')))
        and t.created_at >= coalesce((p_filter ->> 'created_after')::timestamptz, '-infinity') and t.created_at < coalesce((p_filter ->> 'created_before')::timestamptz, 'infinity')
        -- With an offset it is no hash of all metadata.
        and not exists (
          select from jsonb_each_text(v_metadata) as p (name, value) where not exists (
            select from {{schema}}.transfer_metadata m where m.transfer_id = t.id and m.name = p.name and m.value = p.value offset 0))
      order by u.position limit p_limit + 1 - cardinality(v_found));
    v_place := case when cardinality(v_ids) = v_window then v_ids[v_window] end;
    v_window := least(2 * v_window, c_small, c_most - v_read);
  end loop;

  return query select f.id, null::text from unnest(v_found[1:p_limit]) as f (id)
    union all select null, n.id from (select case when cardinality(v_found) > p_limit then v_found[p_limit] else v_place end) as n (id)
    where n.id is not null;
end
$$;
