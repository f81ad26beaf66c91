-- Keeps the jobs alive that a worker still has. It skips locked jobs: their holder settles them, in an order of its own, so waiting
-- could be a deadlock, as it is with pg-boss's own touch.
create or replace function {{schema}}.touch_jobs(p_ids uuid[], p_retry_counts integer[]) returns void language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with had as (
    select j.id
    from unnest(p_ids, p_retry_counts) as h (id, retry_count)
    join {{queue_table}} j on j.name = '{{queue}}' and j.id = h.id and j.retry_count = h.retry_count
    where j.state = 'active'
    for update of j skip locked
  )
  update {{queue_table}} j set heartbeat_on = now() from had h where j.name = '{{queue}}' and j.id = h.id;
end
$$;
