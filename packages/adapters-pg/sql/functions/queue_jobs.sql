-- What others may read of what waits and of the queue, by the id that a transfer has there. A function, whose text is resolved when it
-- runs, so that the queue may change its tables. Postgres puts this text into the statement that calls it, so that a condition on `job`
-- is a search by the primary keys.
create or replace function {{schema}}.queue_jobs()
returns table (job uuid, state text, is_waiting boolean, is_active boolean, due_at timestamptz, heartbeat_at timestamptz, created_at timestamptz)
language sql stable as $$
  select o.id, 'waiting', true, false, o.due_at, null::timestamptz, o.due_at from {{schema}}.outbox o
  union all
  select j.id, j.state::text, j.state < 'active', j.state = 'active', j.start_after, j.heartbeat_on, j.created_on
  from {{queue_table}} j where j.name = '{{queue}}'
$$;
comment on function {{schema}}.queue_jobs() is
  'Transfers that wait in the outbox, and the jobs of those under way. job_id() has the id under which a transfer is in it; one that is due at a time in the past waits for a worker.';
