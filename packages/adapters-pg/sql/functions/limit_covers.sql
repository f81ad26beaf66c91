-- True where a limit counts a transfer: by the currency in which it is stated, or by what moves on either side. A payee is the same by whatever id it is paid, as
-- far as the engine has registered these ids.
create or replace function {{schema}}.limit_covers(p_limit {{schema}}.sum_limit, p_transfer {{schema}}.transfer) returns boolean language sql stable as $$
  select (p_transfer.request #>> '{amount,currency}' = any (p_limit.currencies)
      or p_transfer.request #>> '{source,valueType}' = any (p_limit.currencies)
      or p_transfer.request #>> '{destination,valueType}' = any (p_limit.currencies))
    and (p_limit.accounts is null or p_transfer.account_id = any (p_limit.accounts))
    and (p_limit.gateways is null or p_transfer.gateway = any (p_limit.gateways))
    and (p_limit.counterparties is null or p_transfer.request #>> '{destination,addressId}' = any (p_limit.counterparties)
      or exists (
        select from {{schema}}.counterparty o join {{schema}}.counterparty n on n.payee = o.payee
        where o.address_id = p_transfer.request #>> '{destination,addressId}' and n.address_id = any (p_limit.counterparties)))
$$;
