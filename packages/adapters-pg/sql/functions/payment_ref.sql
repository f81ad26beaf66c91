-- What a request calls its payee by, for an index: the fingerprint of details that it gives in full, which stays when these are registered, or the id of an address.
create or replace function {{schema}}.payment_ref(p_request jsonb) returns text language sql immutable parallel safe as $$
  select coalesce(p_request #>> '{destination,address,fingerprint}', p_request #>> '{destination,addressId}')
$$;
