-- How old the heartbeats are of the jobs that a worker still has.
create or replace function {{schema}}.queue_heartbeats(p_jobs uuid[], p_retry_counts integer[])
returns table (id uuid, age_ms double precision) language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  -- One by one, as queue_remove() does.
  for v_at in 1 .. cardinality(p_jobs) loop
    return query select j.id, (extract(epoch from clock_timestamp() - j.heartbeat_on) * 1000)::float8 from {{queue_table}} j
    where j.name = '{{queue}}' and j.id = p_jobs[v_at] and j.retry_count = p_retry_counts[v_at] and j.state = 'active';
  end loop;
end
$$;
