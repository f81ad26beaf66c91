-- Makes waiting transfers ready whose time has come; returns how many, a thousand at most.
create or replace function {{schema}}.queue_make_due_ready() returns integer language plpgsql as $$
declare
  v_due uuid[] := array(
    select o.id from {{schema}}.outbox o where not o.ready and o.due_at <= now() order by o.due_at limit 1000 for update skip locked);
begin
  if cardinality(v_due) > 0 then
    update {{schema}}.outbox o set ready = true where o.id = any (v_due);
  end if;
  return cardinality(v_due);
end
$$;
