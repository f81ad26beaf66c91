-- Lets those transfers wait that nobody holds, that have no active job and do not wait yet, from now on or from a time each. A worker may believe for another
-- heartbeat that it has one that is `held`, so that one is due after that. Returns how many did not wait. One by one as queue_remove() does.
create or replace function {{schema}}.queue_ensure(p_jobs uuid[], p_due_at timestamptz[], p_held boolean[])
returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_now timestamptz := clock_timestamp();
  v_count integer := 0;
begin
  for v_at in 1 .. coalesce(cardinality(p_jobs), 0) loop
    insert into {{schema}}.outbox (id, account_id, due_at, ready, fetches)
    select p_jobs[v_at], {{schema}}.gateway_account(t.gateway, t.account_id), d.due_at, d.due_at <= v_now, {{schema}}.queue_unknown_fetches()
    from {{schema}}.transfer t
    cross join (select greatest(p_due_at[v_at], v_now + case when p_held[v_at]
      then interval '{{heartbeat_seconds}} seconds' else interval '0' end) as due_at) d
    where t.id = {{schema}}.transfer_of_job(p_jobs[v_at]) and t.stage <> 'held'
      and not exists (select from {{queue_table}} j where j.name = '{{queue}}' and j.id = p_jobs[v_at] and j.state <= 'active')
    on conflict do nothing;
    v_count := v_count + found::integer;
  end loop;
  return v_count;
end
$$;
