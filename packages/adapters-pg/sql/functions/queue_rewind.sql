-- Moves jobs to the front of the order of dispatch, a page at a time, when none is due for a while. True when all are there.
create or replace function {{schema}}.queue_rewind(p_page integer) returns boolean language plpgsql as $$
begin
  if exists (
    select 1 from {{queue_table}} j where j.name = '{{queue}}' and j.start_after <= clock_timestamp() + interval '1 minute')
  then
    return false;
  end if;
  with far as (
    select j.id from {{queue_table}} j where j.name = '{{queue}}' and j.priority < -1 limit p_page for no key update skip locked
  )
  update {{queue_table}} j set priority = -1 from far f where j.name = '{{queue}}' and j.id = f.id;
  return not exists (select 1 from {{queue_table}} j where j.name = '{{queue}}' and j.priority < -1);
end
$$;
