-- The name of the gateway in a text of gateway_account().
create or replace function {{schema}}.gateway_of(p_gateway_account text) returns text language sql immutable parallel safe as $$
  select case when position(' ' in p_gateway_account) = 0 then 'default' else split_part(p_gateway_account, ' ', 1) end
$$;
