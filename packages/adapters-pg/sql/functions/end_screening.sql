-- Ends the screening of a transfer with the last hold for it, whoever ends that. It has the rights of its owner: hosts need none on what is screened.
create or replace function {{schema}}.end_screening() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from {{schema}}.screening s
  where s.transfer_id = old.transfer_id
    and not exists (select from {{schema}}.hold h where h.transfer_id = old.transfer_id and h.name = 'screening');
  return null;
end
$$;
