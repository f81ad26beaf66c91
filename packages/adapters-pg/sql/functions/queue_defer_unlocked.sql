-- Lets transfers with active jobs wait until a time each, and removes the jobs; one without a time comes again soon, less and less often.
-- Skips locked jobs: the transaction that has locked a transfer may have locked its job.
create or replace function {{schema}}.queue_defer_unlocked(p_jobs uuid[], p_due_at timestamptz[]) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_retry_count integer;
begin
  -- One by one, as queue_remove() does.
  for v_at in 1 .. coalesce(cardinality(p_jobs), 0) loop
    select j.retry_count into v_retry_count from {{queue_table}} j
    where j.name = '{{queue}}' and j.id = p_jobs[v_at] and j.state = 'active'
    for update of j skip locked;
    if found then
      perform {{schema}}.queue_defer(array[p_jobs[v_at]], array[coalesce(p_due_at[v_at],
        clock_timestamp() + least(5, 0.25 * power(2, least(v_retry_count, 10))) * (0.5 + random()) * interval '1 second')]);
    end if;
  end loop;
end
$$;
