-- What a transfer uses of a limit that counts it: its amount, where that is stated in what is worth the same as the currency of the limit. Otherwise something converts it,
-- at a quote or at the rate of a gateway: nobody here knows what it is worth in that currency, so that it fits no limit. A limit of an earlier release
-- does not say what is worth the same, and counts each amount without a quote.
create or replace function {{schema}}.limit_amount(p_limit {{schema}}.sum_limit, p_transfer {{schema}}.transfer) returns numeric language sql immutable as $$
  select case when p_transfer.request #>> '{amount,currency}' = any (coalesce(p_limit.worth, p_limit.currencies))
      or p_limit.worth is null and p_transfer.request ->> 'quoteId' is null
    then (p_transfer.request #>> '{amount,value}')::numeric else 'Infinity' end
$$;
