-- Removes jobs, and lets their transfers wait no longer. The settings hold the plan to the index, because a session keeps it for workers
-- and hosts alike: a plan for a table that Postgres believes to be empty reads all of it.
create or replace function {{schema}}.queue_remove(p_jobs uuid[]) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  delete from {{queue_table}} j where j.name = '{{queue}}' and j.id = any (p_jobs);
  delete from {{schema}}.outbox o where o.id = any (p_jobs);
end
$$;
