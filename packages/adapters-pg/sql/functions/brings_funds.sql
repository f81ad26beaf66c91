-- True when a transfer brings funds into a wallet from which another transfer of the account is to be paid.
create or replace function {{schema}}.brings_funds(p_inbound jsonb, p_outbound jsonb) returns boolean language sql immutable as $$
  select p_inbound -> 'destination' ->> 'addressId' = p_outbound -> 'source' ->> 'addressId'
    and p_inbound -> 'destination' ->> 'valueType' = p_outbound -> 'source' ->> 'valueType'
    and p_inbound -> 'destination' ->> 'transferType' = p_outbound -> 'source' ->> 'transferType'
$$;
