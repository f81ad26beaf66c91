-- Lets jobs wait again whose workers are gone, and makes waiting transfers ready whose time has come.
create or replace function {{schema}}.queue_refill() returns void language plpgsql as $$
begin
  if exists (select from {{queue_table}} j where j.name = '{{queue}}' and j.state < 'active' and not j.blocked) then
    perform {{schema}}.queue_return();
  end if;
  perform {{schema}}.queue_make_due_ready();
end
$$;
