-- What others may read of the queue. A function, whose text is resolved when it runs, so that the queue may change its tables. Postgres
-- puts this text into the statement that calls it, so that a condition on `job` is a search by the primary key.
create or replace function {{schema}}.queue_jobs()
returns table (
  job uuid, state text, is_waiting boolean, is_active boolean, place integer, due_at timestamptz, heartbeat_at timestamptz,
  created_at timestamptz
) language sql stable as $$
  select j.id, j.state::text, j.state < 'active', j.state = 'active', -j.priority, j.start_after, j.heartbeat_on, j.created_on
  from {{queue_table}} j where j.name = '{{queue}}'
$$;
comment on function {{schema}}.queue_jobs() is
  'The jobs of transfers in the queue. job_id() has the id of a transfer''s job, and a job that is due at a time in the past waits for a worker.';
