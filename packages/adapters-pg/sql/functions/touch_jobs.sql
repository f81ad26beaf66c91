-- Keeps the jobs alive that a worker still has. It skips locked jobs: their holder settles them, in an order of its own, so waiting
-- could be a deadlock, as it is with pg-boss's own touch.
create or replace function {{schema}}.touch_jobs(p_ids uuid[], p_retry_counts integer[]) returns void language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  -- One by one, as queue_remove() does.
  for v_at in 1 .. cardinality(p_ids) loop
    perform 1 from {{queue_table}} j
    where j.name = '{{queue}}' and j.id = p_ids[v_at] and j.retry_count = p_retry_counts[v_at] and j.state = 'active'
    for update of j skip locked;
    if found then
      update {{queue_table}} j set heartbeat_on = now() where j.name = '{{queue}}' and j.id = p_ids[v_at];
    end if;
  end loop;
end
$$;
