-- Fetch: jobs of the queue that are due, for one worker, and keeping alive those that it has.
-- Replaced as a whole when it changes; never change a signature, add a new name instead.

-- Does what pg-boss's own fetch does for a queue of the standard policy. That is text without a name, planned anew each time,
-- which takes four times as long as running it. A plan that is kept could be one from when the queue was empty, so this one
-- is held to the index that has the jobs in the order of dispatch.
create or replace function {{schema}}.fetch_jobs(p_limit integer) returns table (id uuid, retry_count integer) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
  return query
  with next as (
    select j.id from {{queue_table}} j
    where j.name = '{{queue}}' and j.state < 'active' and not j.blocked and j.start_after <= now()
    order by j.priority desc, j.created_on limit p_limit
    for update of j skip locked
  )
  update {{queue_table}} j
  set state = 'active', started_on = now(), heartbeat_on = now(),
      retry_count = case when j.started_on is not null then j.retry_count + 1 else j.retry_count end
  from next n where j.name = '{{queue}}' and j.id = n.id
  returning j.id, j.retry_count;
end
$$;

-- Keeps the jobs alive that a worker still has. Whoever holds one of them settles it, in an order of its own: waiting could be a
-- deadlock, as it is with pg-boss's own touch.
create or replace function {{schema}}.touch_jobs(p_ids uuid[], p_retry_counts integer[]) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
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
