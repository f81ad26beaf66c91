-- Gives jobs back to the queue until a time each, one by one as queue_remove() does.
create or replace function {{schema}}.queue_defer(p_jobs uuid[], p_due_at timestamptz[]) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  for v_at in 1 .. coalesce(cardinality(p_jobs), 0) loop
    update {{queue_table}} j set state = 'retry', heartbeat_on = null, start_after = p_due_at[v_at]
    where j.name = '{{queue}}' and j.id = p_jobs[v_at];
  end loop;
end
$$;
