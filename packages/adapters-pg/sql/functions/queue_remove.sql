-- Removes jobs, and lets their transfers wait no longer. One by one: joined to a set, a plan for a table that Postgres believes to be
-- empty reads all of it. The settings hold the plan to the index, because a session keeps it for workers and hosts alike.
create or replace function {{schema}}.queue_remove(p_jobs uuid[]) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_job uuid;
begin
  foreach v_job in array coalesce(p_jobs, '{}') loop
    delete from {{queue_table}} j where j.name = '{{queue}}' and j.id = v_job;
    delete from {{schema}}.outbox o where o.id = v_job;
  end loop;
end
$$;
