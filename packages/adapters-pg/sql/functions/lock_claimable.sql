-- Locks those of the transfers that are free and wait for an attempt, and returns them and their jobs. Jobs of transfers that have
-- ended are deleted. Jobs of transfers that are not due before a time wait for that time. Jobs of locked transfers come again soon,
-- less and less often.
create or replace function {{schema}}.lock_claimable(p_ids text[], p_jobs uuid[], out ids text[], out jobs uuid[])
language plpgsql as $$
declare
  v_over uuid[];
  v_later uuid[];
  v_start_after timestamptz[];
begin
  with free as materialized (
    select t.id, t.stage, t.not_before from {{schema}}.transfer t where t.id = any (p_ids) order by t.id for no key update skip locked
  ), mine as materialized (
    select n.id, n.job, f.id is not null as is_free, f.not_before > clock_timestamp() as is_early, f.not_before,
      f.stage in ('queued', 'submitting', 'awaiting_funds') as is_open,
      f.id is null and not exists (select 1 from {{schema}}.transfer t where t.id = n.id) as is_gone
    from unnest(p_ids, p_jobs) as n (id, job) left join free f on f.id = n.id
  ), later as materialized (
    -- The transaction that has locked a transfer may have locked its job.
    select j.id, case when m.is_free then m.not_before
      else clock_timestamp() + least(5, 0.25 * power(2, least(j.retry_count, 10))) * (0.5 + random()) * interval '1 second' end as start_after
    from mine m
    cross join lateral (
      select x.id, x.retry_count from {{queue_table}} x where x.name = '{{queue}}' and x.id = m.job and x.state = 'active'
      offset 0 for update skip locked
    ) j
    where (not m.is_free or m.is_open and m.is_early) and not m.is_gone
  )
  select array_agg(m.id) filter (where m.is_free and m.is_open and m.is_early is not true),
    array_agg(m.job) filter (where m.is_free and m.is_open and m.is_early is not true),
    array_agg(m.job) filter (where m.is_gone or m.is_free and not m.is_open),
    (select array_agg(l.id) from later l), (select array_agg(l.start_after) from later l)
  into ids, jobs, v_over, v_later, v_start_after
  from mine m;
  perform {{schema}}.queue_defer(v_later, v_start_after);
  if v_over is not null then
    delete from {{queue_table}} j where j.name = '{{queue}}' and j.id in (
      select o.id from {{queue_table}} o where o.name = '{{queue}}' and o.id = any (v_over) for update skip locked);
  end if;
  ids := coalesce(ids, '{}');
  jobs := coalesce(jobs, '{}');
end
$$;
