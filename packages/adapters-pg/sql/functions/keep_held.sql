-- Keeps a transfer that has holds from the queue. Code of a release that knows no holds releases a blocked one without them. It has the rights of its owner:
-- the role of an earlier release may not read the holds. No name in it is searched for, so it has no path of its own.
create or replace function {{schema}}.keep_held() returns trigger language plpgsql security definer as $$
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
