-- Makes waiting jobs due, now or at a time each, that are due later than that. Skips locked jobs: a host may have locked some, in an
-- order of its own. Returns how many it made due.
create or replace function {{schema}}.queue_wake_unlocked(p_jobs uuid[], p_due_at timestamptz[]) returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_count integer := 0;
begin
  -- One by one, as queue_remove() does.
  for v_at in 1 .. coalesce(cardinality(p_jobs), 0) loop
    perform 1 from {{queue_table}} j
    where j.name = '{{queue}}' and j.id = p_jobs[v_at] and j.state < 'active'
      and j.start_after > greatest(clock_timestamp(), p_due_at[v_at])
    for update of j skip locked;
    if found then
      update {{queue_table}} j set start_after = greatest(clock_timestamp(), p_due_at[v_at])
      where j.name = '{{queue}}' and j.id = p_jobs[v_at];
      v_count := v_count + 1;
    end if;
  end loop;
  return v_count;
end
$$;
