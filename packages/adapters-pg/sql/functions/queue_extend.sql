-- Keeps the jobs alive that a worker still has. It skips locked jobs: their holder settles them, in an order of its own, so waiting
-- could be a deadlock, as it is with pg-boss's own touch.
create or replace function {{schema}}.queue_extend(p_jobs uuid[], p_retry_counts integer[]) returns void language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  for v_at in 1 .. cardinality(p_jobs) loop
    if {{schema}}.queue_hold(p_jobs[v_at], p_retry_counts[v_at]) then
      update {{queue_table}} j set heartbeat_on = now() where j.name = '{{queue}}' and j.id = p_jobs[v_at];
    end if;
  end loop;
end
$$;
