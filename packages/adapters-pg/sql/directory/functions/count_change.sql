-- Makes each change of a route a version of its own, whoever writes it.
create or replace function {{schema}}.count_change() returns trigger language plpgsql as $$
begin
  new.version := old.version + 1;
  new.changed_at := clock_timestamp();
  return new;
end
$$;
