-- Notifies the caches of routes of the account whose route has changed.
create or replace function {{schema}}.announce_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('{{channel}}', old.account_id);
  return null;
end
$$;
