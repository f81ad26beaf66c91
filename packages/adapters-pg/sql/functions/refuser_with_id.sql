-- The gateway that a transfer was taken from and that has accepted it under this id all the same; null where there is none.
create or replace function {{schema}}.refuser_with_id(p_transfer_id text, p_remote_id text) returns text language sql stable as $$
  select a.gateway from {{schema}}.attempt a join {{schema}}.transfer t on t.id = a.transfer_id
  where a.transfer_id = p_transfer_id and a.unmatched and a.remote_id = p_remote_id and a.gateway <> t.gateway
$$;
