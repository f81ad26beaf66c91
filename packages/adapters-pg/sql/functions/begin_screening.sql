-- Lets a transfer be screened, from when it may be sent, that is held for it from here on. It has the rights of its owner: hosts need none on what is
-- screened. Where an account arrives from another node the transfer comes later, and its screening by itself.
create or replace function {{schema}}.begin_screening() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into {{schema}}.screening (transfer_id, account_id, due_at)
  select t.id, t.account_id, greatest(t.not_before, clock_timestamp()) from {{schema}}.transfer t where t.id = new.transfer_id
  on conflict do nothing;
  return null;
end
$$;
