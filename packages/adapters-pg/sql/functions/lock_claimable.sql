-- Locks those of the transfers that are free and wait for an attempt, and returns them and their jobs. Jobs of transfers that have
-- ended are deleted. Jobs of transfers that are not due before a time wait for that time. Jobs of locked transfers come again soon,
-- less and less often.
create or replace function {{schema}}.lock_claimable(p_ids text[], p_jobs uuid[], out ids text[], out jobs uuid[])
language plpgsql as $$
declare
  v_over uuid[];
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
    select j.id, m.is_free, m.not_before, j.retry_count from mine m join {{queue_table}} j on j.name = '{{queue}}' and j.id = m.job
    where j.state = 'active' and (not m.is_free or m.is_open and m.is_early) and not m.is_gone
    for update of j skip locked
  ), back as (
    update {{queue_table}} j
    set state = 'retry', heartbeat_on = null,
        start_after = case when l.is_free then l.not_before
          else clock_timestamp() + least(5, 0.25 * power(2, least(l.retry_count, 10))) * (0.5 + random()) * interval '1 second' end
    from later l where j.name = '{{queue}}' and j.id = l.id
  )
  select array_agg(m.id) filter (where m.is_free and m.is_open and m.is_early is not true),
    array_agg(m.job) filter (where m.is_free and m.is_open and m.is_early is not true),
    array_agg(m.job) filter (where m.is_gone or m.is_free and not m.is_open)
  into ids, jobs, v_over
  from mine m;
  if v_over is not null then
    delete from {{queue_table}} j where j.name = '{{queue}}' and j.id in (
      select o.id from {{queue_table}} o where o.name = '{{queue}}' and o.id = any (v_over) for update skip locked);
  end if;
  ids := coalesce(ids, '{}');
  jobs := coalesce(jobs, '{}');
end
$$;
