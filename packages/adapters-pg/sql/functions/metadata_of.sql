-- The metadata of a transfer; null where it has none. Volatile, so that a claim reads it as it is committed: the statement around a claim may be older than the
-- transfer.
create or replace function {{schema}}.metadata_of(p_id text) returns jsonb language sql volatile strict as $$
  select jsonb_object_agg(x.name, x.value) from {{schema}}.transfer_metadata x where x.transfer_id = p_id
$$;
