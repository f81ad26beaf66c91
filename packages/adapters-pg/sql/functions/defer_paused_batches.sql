-- Defers those of the transfers whose batch is paused until it is resumed, and returns the others. The caller has locked them.
create or replace function {{schema}}.defer_paused_batches(p_ids text[], p_jobs uuid[], out ids text[], out jobs uuid[]) language plpgsql as $$
declare
  v_ids text[];
  v_jobs uuid[];
  v_due_at timestamptz[];
begin
  with deferred as (
    update {{schema}}.transfer t
    set stage = 'queued', reason = 'batch_paused', updated_at = clock_timestamp(), unknown_since = {{schema}}.unknown_since_of(t)
    from unnest(p_ids, p_jobs) as n (id, job)
    where t.id = n.id and t.stage in ('queued', 'submitting', 'awaiting_funds')
      and t.batch_id = any (array(select p.batch_id from {{schema}}.paused_batch p))
    returning t.id, n.job
  )
  select coalesce(array_agg(d.id), '{}'), array_agg(d.job), array_agg(clock_timestamp() + interval '10 years')
  into v_ids, v_jobs, v_due_at from deferred d;
  perform {{schema}}.queue_defer(v_jobs, v_due_at);
  select coalesce(array_agg(n.id), '{}'), coalesce(array_agg(n.job), '{}') into ids, jobs
  from unnest(p_ids, p_jobs) as n (id, job) where n.id <> all (v_ids);
end
$$;
