-- Removes a subscription, or some of its types, with the events that it has yet to handle; while there are any, only with
-- `p_discard`, and not while a process attends it. It waits for handlers that run.
create or replace function {{schema}}.remove_subscription(p_name text, p_types text[], p_discard boolean)
returns table (known boolean, removed boolean, pending integer) language plpgsql as $$
begin
  select true into known from {{schema}}.subscription s
  where s.name = p_name and (p_types is null or s.types && p_types) for update;
  select count(*) into pending from {{schema}}.delivery d where d.subscription = p_name and (p_types is null or d.type = any (p_types));
  known := coalesce(known, false) or pending > 0;
  removed := known and (pending = 0 or p_discard) and coalesce({{schema}}.attended_for(p_name, p_types), 0) = 0;
  if removed then
    delete from {{schema}}.delivery d where d.subscription = p_name and (p_types is null or d.type = any (p_types));
    update {{schema}}.subscription s
    set types = array(select x.type from unnest(s.types) as x (type) where x.type <> all (p_types)), attended = s.attended - p_types
    where s.name = p_name and p_types is not null;
    delete from {{schema}}.subscription s where s.name = p_name and (p_types is null or s.types = '{}');
    perform {{schema}}.resume_deferred_deliveries(p_name);
  end if;
  return next;
end
$$;
