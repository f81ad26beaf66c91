-- Keeps a transfer that has holds from the queue. Code of a release that knows no holds releases a blocked one without them. It has the rights of its owner:
-- the role of an earlier release may not read the holds. Its path is its own, so that nobody's functions or operators run with those rights.
create or replace function {{schema}}.keep_held() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_hold text := (select min(h.name) from {{schema}}.hold h where h.transfer_id = new.id);
begin
  if v_hold is not null then
    new.stage := 'held';
    new.reason := v_hold;
  end if;
  return new;
end
$$;
