-- Puts the jobs of transfers into the queue, each as one that a worker has, with how often one had it before. Returns those that it put:
-- a worker may have another one already. Hardly ever does one, and without the search for it an insert writes less.
create or replace function {{schema}}.queue_activate(p_jobs uuid[], p_retry_counts integer[]) returns uuid[] language plpgsql as $$
begin
  begin
    insert into {{queue_table}} (id, name, state, start_after, started_on, heartbeat_on, retry_count, retry_limit, expire_seconds,
      heartbeat_seconds, keep_until, policy)
    select n.job, '{{queue}}', 'active', now(), now(), now(), n.retry_count, {{retry_limit}}, {{expire_seconds}}, {{heartbeat_seconds}},
      now() + interval '100 years', 'standard'
    from unnest(p_jobs, p_retry_counts) as n (job, retry_count);
    return p_jobs;
  exception when unique_violation then
    -- Below.
  end;
  return (
    with put as (
      insert into {{queue_table}} as j (id, name, state, start_after, started_on, heartbeat_on, retry_count, retry_limit, expire_seconds,
        heartbeat_seconds, keep_until, policy)
      select n.job, '{{queue}}', 'active', now(), now(), now(), n.retry_count, {{retry_limit}}, {{expire_seconds}}, {{heartbeat_seconds}},
        now() + interval '100 years', 'standard'
      from unnest(p_jobs, p_retry_counts) as n (job, retry_count)
      on conflict (name, id) do update
      set state = 'active', started_on = now(), heartbeat_on = now(), completed_on = null,
        retry_count = greatest(j.retry_count + 1, excluded.retry_count)
      where j.state <> 'active'
      returning j.id
    )
    select coalesce(array_agg(p.id), '{}') from put p);
end
$$;
