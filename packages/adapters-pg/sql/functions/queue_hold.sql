-- Locks a job if the worker that fetched it still has it. False when another has fetched it since, when it went back or ended, and when
-- it is locked. The callers' settings hold its plan to the index.
create or replace function {{schema}}.queue_hold(p_job uuid, p_retry_count integer) returns boolean language plpgsql as $$
begin
  perform 1 from {{queue_table}} j
  where j.name = '{{queue}}' and j.id = p_job and j.retry_count = p_retry_count and j.state = 'active'
  for update of j skip locked;
  return found;
end
$$;
