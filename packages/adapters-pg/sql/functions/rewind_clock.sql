-- Sets the virtual time back when it is high and nothing is due for a while. Jobs that wait for long, for a paused account or for
-- their time, do not keep it from that: they go to the front first, page by page, or they would be behind all others afterwards.
create or replace function {{schema}}.rewind_clock(p_from bigint, p_page integer) returns void language plpgsql
set lock_timeout = '250ms' as $$
begin
  if not exists (select 1 from {{schema}}.dispatch_clock c where c.tag > p_from) then
    return;
  end if;
  if {{schema}}.queue_rewind(p_page) then
    update {{schema}}.dispatch_clock c set tag = 0;
  end if;
end
$$;
