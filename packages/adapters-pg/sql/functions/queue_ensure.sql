-- Puts those jobs into the queue that are not in it, at its front, due now or at a time each. A worker may believe for another heartbeat
-- that it has one that is `held`, so that one is due after that. Returns how many were not in the queue.
create or replace function {{schema}}.queue_ensure(p_jobs uuid[], p_due_at timestamptz[], p_held boolean[])
returns integer language plpgsql as $$
declare
  v_count integer;
begin
  insert into {{queue_table}} as j
    (id, name, start_after, retry_limit, expire_seconds, heartbeat_seconds, keep_until, policy)
  select n.job, '{{queue}}', greatest(n.due_at, clock_timestamp() + case when n.held
      then interval '{{heartbeat_seconds}} seconds' else interval '0' end), {{retry_limit}}, {{expire_seconds}},
    {{heartbeat_seconds}}, clock_timestamp() + interval '100 years', 'standard'
  from unnest(p_jobs, p_due_at, p_held) as n (job, due_at, held)
  on conflict (name, id) do update set state = 'retry', start_after = excluded.start_after, completed_on = null
  where j.state > 'active';
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
