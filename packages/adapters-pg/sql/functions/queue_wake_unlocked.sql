-- Makes waiting transfers due, now or at a time each, that are due later than that. Skips locked ones: a host may have locked some, in an
-- order of its own. Returns how many it made due.
create or replace function {{schema}}.queue_wake_unlocked(p_jobs uuid[], p_due_at timestamptz[]) returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_now timestamptz := clock_timestamp();
  v_due_at timestamptz;
  v_count integer := 0;
begin
  -- One by one, as queue_remove() does.
  for v_at in 1 .. coalesce(cardinality(p_jobs), 0) loop
    v_due_at := greatest(v_now, p_due_at[v_at]);
    perform from {{schema}}.outbox o where o.id = p_jobs[v_at] and o.due_at > v_due_at for update skip locked;
    continue when not found;
    update {{schema}}.outbox o set due_at = v_due_at, ready = v_due_at <= v_now where o.id = p_jobs[v_at];
    v_count := v_count + 1;
  end loop;
  return v_count;
end
$$;
