-- Removes jobs, except locked ones. The settings are those of queue_remove().
create or replace function {{schema}}.queue_remove_unlocked(p_jobs uuid[]) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_job uuid;
begin
  foreach v_job in array coalesce(p_jobs, '{}') loop
    perform 1 from {{queue_table}} j where j.name = '{{queue}}' and j.id = v_job for update of j skip locked;
    if found then
      delete from {{queue_table}} j where j.name = '{{queue}}' and j.id = v_job;
    end if;
  end loop;
end
$$;
