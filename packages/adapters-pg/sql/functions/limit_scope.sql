-- Which of the sums of a limit a transfer belongs to.
create or replace function {{schema}}.limit_scope(p_per text[], p_transfer {{schema}}.transfer) returns text language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'account', case when 'account' = any (p_per) then p_transfer.account_id end,
    'counterparty', case when 'counterparty' = any (p_per) then {{schema}}.limit_payee(p_transfer) end,
    'gateway', case when 'gateway' = any (p_per) then p_transfer.gateway end))::text
$$;
