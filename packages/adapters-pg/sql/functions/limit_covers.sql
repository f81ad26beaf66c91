-- True where a limit counts a transfer: by the currency in which it is stated, or by what moves, which is worth the same unless it has a quote.
create or replace function {{schema}}.limit_covers(p_limit {{schema}}.sum_limit, p_transfer {{schema}}.transfer) returns boolean language sql immutable as $$
  select (p_transfer.request #>> '{amount,currency}' = any (p_limit.currencies)
      or p_transfer.request ->> 'quoteId' is null and (p_transfer.request #>> '{source,valueType}' = any (p_limit.currencies)
        or p_transfer.request #>> '{destination,valueType}' = any (p_limit.currencies)))
    and (p_limit.accounts is null or p_transfer.account_id = any (p_limit.accounts))
    and (p_limit.gateways is null or p_transfer.gateway = any (p_limit.gateways))
    and (p_limit.counterparties is null or p_transfer.request #>> '{destination,addressId}' = any (p_limit.counterparties))
$$;
