-- Sets the virtual time back when it is high and nothing is due for a while. Jobs that wait for long, for a paused account or for
-- their time, do not keep it from that: they go to the front first, page by page, or they would be behind all others afterwards.
create or replace function {{schema}}.rewind_clock(p_from bigint, p_page integer) returns void language plpgsql
set lock_timeout = '250ms' as $$
begin
  if not exists (select 1 from {{schema}}.dispatch_clock c where c.tag > p_from) or exists (
    select 1 from {{queue_table}} j where j.name = '{{queue}}' and j.start_after <= clock_timestamp() + interval '1 minute')
  then
    return;
  end if;
  with far as (
    select j.id from {{queue_table}} j where j.name = '{{queue}}' and j.priority < -1 limit p_page for no key update skip locked
  )
  update {{queue_table}} j set priority = -1 from far f where j.name = '{{queue}}' and j.id = f.id;
  update {{schema}}.dispatch_clock c set tag = 0
  where not exists (select 1 from {{queue_table}} j where j.name = '{{queue}}' and j.priority < -1);
end
$$;
