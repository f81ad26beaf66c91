-- The id of the account in a text of gateway_account().
create or replace function {{schema}}.account_of(p_gateway_account text) returns text language sql immutable parallel safe as $$
  select split_part(p_gateway_account, ' ', -1)
$$;
