-- Puts jobs into the queue, each at a place in the order of dispatch and due at a time.
create or replace function {{schema}}.queue_put_many(p_jobs uuid[], p_places integer[], p_due_at timestamptz[])
returns void language plpgsql as $$
begin
  insert into {{queue_table}} (id, name, priority, start_after, retry_limit, expire_seconds, heartbeat_seconds, keep_until, policy)
  select n.job, '{{queue}}', -n.place, n.due_at, {{retry_limit}}, {{expire_seconds}}, {{heartbeat_seconds}},
    clock_timestamp() + interval '100 years', 'standard'
  from unnest(p_jobs, p_places, p_due_at) as n (job, place, due_at);
end
$$;
