-- Makes waiting transfers due, now or at a time each. A worker may believe for another heartbeat that it has one that is `held`, so that one
-- becomes due after that, unless it was due earlier. Waits for locked ones: the caller has locked their transfers. Returns how many wait.
create or replace function {{schema}}.queue_wake(p_jobs uuid[], p_due_at timestamptz[], p_held boolean[]) returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_now timestamptz := clock_timestamp();
  v_due_at timestamptz;
  v_count integer := 0;
begin
  -- One by one, as queue_remove() does.
  for v_at in 1 .. coalesce(cardinality(p_jobs), 0) loop
    select greatest(v_now, p_due_at[v_at], case when p_held[v_at]
      then least(o.due_at, v_now + interval '{{heartbeat_seconds}} seconds') end) into v_due_at
    from {{schema}}.outbox o where o.id = p_jobs[v_at] for update;
    continue when not found;
    update {{schema}}.outbox o set due_at = v_due_at, ready = v_due_at <= v_now where o.id = p_jobs[v_at];
    v_count := v_count + 1;
  end loop;
  return v_count;
end
$$;
