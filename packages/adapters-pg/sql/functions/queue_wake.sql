-- Makes waiting jobs due, now or at a time each. A worker may believe for another heartbeat that it has one that is `held`, so that one
-- becomes due after that, unless it was due earlier. Waits for locked jobs: the caller has locked their transfers. Returns how many wait.
create or replace function {{schema}}.queue_wake(p_jobs uuid[], p_due_at timestamptz[], p_held boolean[]) returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_count integer := 0;
begin
  -- One by one, as queue_remove() does.
  for v_at in 1 .. coalesce(cardinality(p_jobs), 0) loop
    update {{queue_table}} j set start_after = greatest(clock_timestamp(), p_due_at[v_at], case when p_held[v_at]
      then least(j.start_after, clock_timestamp() + interval '{{heartbeat_seconds}} seconds') end)
    where j.name = '{{queue}}' and j.id = p_jobs[v_at] and j.state < 'active';
    v_count := v_count + found::integer;
  end loop;
  return v_count;
end
$$;
