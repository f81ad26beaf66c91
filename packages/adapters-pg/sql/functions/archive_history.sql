create or replace function {{schema}}.archive_history(
  p_after text, p_before text, p_older_ms bigint, p_limit integer, p_dry_run boolean
) returns table (last_id text, archived integer, held integer, held_by text[]) language plpgsql set lock_timeout = '250ms' as $$
declare
  v_ids text[];
  v_held text[];
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
  if archived > 0 and not p_dry_run then
    with events as (
      delete from {{schema}}.event e where e.transfer_id = any (v_ids) returning e.*
    ), attempts as (
      delete from {{schema}}.attempt a where a.transfer_id = any (v_ids) returning a.*
    ), contexts as (
      delete from {{schema}}.trace_context x where x.transfer_id = any (v_ids)
    ), histories as (
      select i.id, jsonb_build_object('events', coalesce(e.rows, '[]'), 'attempts', coalesce(a.rows, '[]')) as history
      from unnest(v_ids) as i (id)
      left join (select x.transfer_id, jsonb_agg(to_jsonb(x) order by x.sequence) as rows from events x group by 1) e on e.transfer_id = i.id
      left join (select x.transfer_id, jsonb_agg(to_jsonb(x) order by x.attempt) as rows from attempts x group by 1) a on a.transfer_id = i.id
    )
    insert into {{schema}}.archive (transfers, history) select archived, jsonb_object_agg(h.id, h.history) from histories h
    returning page into v_page;
    update {{schema}}.transfer t set archive_page = v_page where t.id = any (v_ids);
  end if;
  return next;
end
$$;
