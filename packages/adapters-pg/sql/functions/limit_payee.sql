-- Which payee a transfer pays, for limits on sums: one text for all ids under which the engine has registered the payee, for any account and at any gateway. It is
-- the id of the address where the engine does not know whose that is. The same id may stand for others at another gateway, so the account's own comes first.
create or replace function {{schema}}.limit_payee(p_transfer {{schema}}.transfer) returns text language sql stable as $$
  select coalesce((
    select 'payee ' || left(encode(sha256(convert_to(s.salt || c.payee, 'UTF8')), 'hex'), 32)
    from {{schema}}.counterparty c cross join {{schema}}.limit_salt s
    where c.address_id = p_transfer.request #>> '{destination,addressId}' and c.payee is not null
    order by c.account_id = {{schema}}.gateway_account(p_transfer.gateway, p_transfer.account_id) desc, c.payee limit 1),
    p_transfer.request #>> '{destination,addressId}')
$$;
