-- Locks those of the transfers that are free and wait for an attempt, and returns them and their jobs. Jobs of transfers that have
-- ended are deleted. Jobs of transfers that are not due before a time wait for that time. Jobs of locked transfers come again soon,
-- less and less often. Transfers whose request is no object are blocked.
create or replace function {{schema}}.lock_claimable(p_ids text[], p_jobs uuid[], out ids text[], out jobs uuid[])
language plpgsql as $$
declare
  v_over uuid[];
  v_later uuid[];
  v_due_at timestamptz[];
  v_unreadable text[];
  v_unreadable_jobs uuid[];
begin
  with free as materialized (
    select t.id, t.stage, t.not_before, jsonb_typeof(t.request) = 'object' as is_readable from {{schema}}.transfer t where t.id = any (p_ids) order by t.id for no key update skip locked
  ), mine as materialized (
    select n.id, n.job, f.id is not null as is_free, f.not_before > clock_timestamp() as is_early, f.not_before, f.is_readable,
      f.stage in ('queued', 'submitting', 'awaiting_funds') as is_open,
      f.id is null and not exists (select 1 from {{schema}}.transfer t where t.id = n.id) as is_gone
    from unnest(p_ids, p_jobs) as n (id, job) left join free f on f.id = n.id
  ), later as (
    select m.job, case when m.is_free then m.not_before end as due_at from mine m
    where (not m.is_free or m.is_open and m.is_early) and not m.is_gone
  )
  select array_agg(m.id) filter (where m.is_free and m.is_open and m.is_early is not true and m.is_readable),
    array_agg(m.job) filter (where m.is_free and m.is_open and m.is_early is not true and m.is_readable),
    array_agg(m.id) filter (where m.is_free and m.is_open and m.is_early is not true and not m.is_readable),
    array_agg(m.job) filter (where m.is_free and m.is_open and m.is_early is not true and not m.is_readable),
    array_agg(m.job) filter (where m.is_gone or m.is_free and not m.is_open),
    (select array_agg(l.job) from later l), (select array_agg(l.due_at) from later l)
  into ids, jobs, v_unreadable, v_unreadable_jobs, v_over, v_later, v_due_at
  from mine m;
  perform {{schema}}.queue_defer_unlocked(v_later, v_due_at);
  perform {{schema}}.queue_remove_unlocked(v_over);
  if v_unreadable is not null then
    perform {{schema}}.repair_requests(v_unreadable, v_unreadable_jobs);
  end if;
  ids := coalesce(ids, '{}');
  jobs := coalesce(jobs, '{}');
end
$$;
