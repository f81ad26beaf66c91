-- Gives jobs back to the queue until a time each, one by one as queue_remove() does.
create or replace function {{schema}}.queue_defer(p_jobs uuid[], p_start_after timestamptz[]) returns void language plpgsql as $$
begin
  for v_at in 1 .. coalesce(cardinality(p_jobs), 0) loop
    update {{queue_table}} j set state = 'retry', heartbeat_on = null, start_after = p_start_after[v_at]
    where j.name = '{{queue}}' and j.id = p_jobs[v_at];
  end loop;
end
$$;
