-- By what transfers call a payee, of whom an address, details or a digest are known: ids of addresses, each with its gateway, and fingerprints of details, with an
-- empty text. An id counts also at the gateways from which the transfer was handed over under it. What the account has registered at the gateway comes first; of what other accounts have, as of a payee of very many, there are a thousand.
create or replace function {{schema}}.payment_refs(
  p_account_id text, p_gateway text, p_address_id text, p_fingerprint text, p_payee text, p_id text, out refs text[], out gateways text[]
) language sql stable as $$
  with alike as (
    (select c.account_id, c.fingerprint, c.address_id from {{schema}}.counterparty c
      where c.payee = p_payee and c.account_id = {{schema}}.gateway_account(p_gateway, p_account_id))
    union
    (select c.account_id, c.fingerprint, c.address_id from {{schema}}.counterparty c where c.payee = p_payee limit 1000)
    union
    (select c.account_id, c.fingerprint, c.address_id from {{schema}}.counterparty c
      where c.address_id = p_address_id and {{schema}}.gateway_of(c.account_id) = p_gateway limit 1000)
  ), found as (
    select p_fingerprint as ref, '' as gateway
    union select p_address_id, p_gateway
    union select p_address_id, c.gateway from {{schema}}.payment_chain(p_id, p_address_id) c (gateway)
    union select a.fingerprint, '' from alike a
    union select a.address_id, {{schema}}.gateway_of(a.account_id) from alike a
    union (
      select d.fingerprint, '' from {{schema}}.counterparty_details d
      where {{schema}}.payee_of(d.details) = p_payee and d.account_id = {{schema}}.gateway_account(p_gateway, p_account_id) limit 1000)
  )
  select coalesce(array_agg(f.ref), '{}'), coalesce(array_agg(f.gateway), '{}') from found f where f.ref is not null
$$;
drop function if exists {{schema}}.payment_refs(text, text, text, text, text);
