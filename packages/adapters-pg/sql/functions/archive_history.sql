create or replace function {{schema}}.archive_history(
  p_after text, p_before text, p_older_ms bigint, p_limit integer, p_dry_run boolean
) returns table (last_id text, archived integer, held integer, held_by text[], referenced integer) language plpgsql
set lock_timeout = '250ms' as $$
declare
  v_ids text[];
  v_held text[];
  v_one text;
  v_history jsonb;
  v_page bigint;
begin
  -- An event means that the history is live, so no other index is needed. Each transfer that has ended has its first or its second one.
  select array_agg(c.transfer_id), max(c.transfer_id) into v_ids, last_id from (
    select distinct e.transfer_id from {{schema}}.event e
    where e.sequence <= 2 and e.transfer_id > p_after and e.transfer_id < p_before order by e.transfer_id limit p_limit
  ) c;
  v_ids := {{schema}}.lock_ended(v_ids, clock_timestamp() - p_older_ms * interval '1 millisecond', not p_dry_run);

  -- New deliveries come with new events, and those need the lock. By subscription, since that is how they are indexed.
  with recursive subscribed as (
    (select d.subscription from {{schema}}.delivery d order by d.subscription limit 1)
    union all
    select (select d.subscription from {{schema}}.delivery d where d.subscription > s.subscription order by d.subscription limit 1)
    from subscribed s where s.subscription is not null
  )
  select array_agg(distinct d.transfer_id), coalesce(array_agg(distinct d.subscription), '{}') into v_held, held_by
  from subscribed s join {{schema}}.delivery d on d.subscription = s.subscription and d.transfer_id = any (v_ids);
  select array_agg(i.id) into v_ids from unnest(v_ids) as i (id) where i.id <> all (coalesce(v_held, '{}'));

  held := coalesce(cardinality(v_held), 0);
  archived := coalesce(cardinality(v_ids), 0);
  referenced := 0;
  if archived > 0 and not p_dry_run then
    -- A host may have deferred its foreign keys to the commit, which nothing here could catch.
    set constraints all immediate;
    begin
      v_history := {{schema}}.remove_history(v_ids);
    exception when foreign_key_violation or restrict_violation then
      -- One by one, and still into one row, which compresses better.
      v_history := '{}';
      foreach v_one in array v_ids loop
        begin
          v_history := v_history || {{schema}}.remove_history(array[v_one]);
        exception when foreign_key_violation or restrict_violation then
          referenced := referenced + 1;
          v_ids := array_remove(v_ids, v_one);
        end;
      end loop;
      archived := archived - referenced;
    end;
  end if;
  if archived > 0 and not p_dry_run then
    insert into {{schema}}.archive (transfers, history) values (archived, v_history) returning page into v_page;
    update {{schema}}.transfer t set archive_page = v_page where t.id = any (v_ids);
  end if;
  return next;
end
$$;
