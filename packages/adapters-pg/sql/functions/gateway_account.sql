-- An account at one gateway, as one text. Names of gateways and ids of accounts have no space.
create or replace function {{schema}}.gateway_account(p_gateway text, p_account_id text) returns text language sql immutable parallel safe as $$
  select case when p_gateway = 'default' then p_account_id else p_gateway || ' ' || p_account_id end
$$;
