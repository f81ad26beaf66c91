-- Lets transfers wait until a time each, and removes their jobs, one by one as queue_remove() does.
create or replace function {{schema}}.queue_defer(p_jobs uuid[], p_due_at timestamptz[]) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_retry_count integer;
begin
  for v_at in 1 .. coalesce(cardinality(p_jobs), 0) loop
    delete from {{queue_table}} j where j.name = '{{queue}}' and j.id = p_jobs[v_at] returning j.retry_count into v_retry_count;
    insert into {{schema}}.outbox as o (id, account_id, due_at, ready, fetches)
    select p_jobs[v_at], {{schema}}.gateway_account(t.gateway, t.account_id), p_due_at[v_at], p_due_at[v_at] <= clock_timestamp(), coalesce(v_retry_count + 1, {{schema}}.queue_unknown_fetches())
    from {{schema}}.transfer t where t.id = {{schema}}.transfer_of_job(p_jobs[v_at])
    on conflict (id) do update set due_at = excluded.due_at, ready = excluded.ready;
  end loop;
end
$$;
