-- Puts a job into the queue, at a place in the order of dispatch and due at a time. Returns its place.
create or replace function {{schema}}.queue_put_one(p_job uuid, p_place integer, p_due_at timestamptz) returns integer language plpgsql as $$
begin
  insert into {{queue_table}}
    (id, name, priority, start_after, retry_limit, expire_seconds, heartbeat_seconds, keep_until, policy)
  values (p_job, '{{queue}}', -p_place, p_due_at, {{retry_limit}}, {{expire_seconds}}, {{heartbeat_seconds}},
    clock_timestamp() + interval '100 years', 'standard');
  return p_place;
end
$$;
