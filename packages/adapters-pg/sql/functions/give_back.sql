-- Notes that a counted transfer has ended without being paid, for a worker to give back once nothing of it can move money any more. Whoever ends
-- a transfer runs this, a host too, so it locks nothing. It has the rights of its owner: hosts need none on what is counted.
create or replace function {{schema}}.give_back() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from {{schema}}.limit_charge c where c.transfer_id = new.id) then
    insert into {{schema}}.limit_refund (transfer_id) values (new.id) on conflict do nothing;
  end if;
  return null;
end
$$;
