-- Ids under which payees are registered, at any gateway and for any account: by the id of an address, which has the payee of others, by the fingerprint of details,
-- and by the digest of a payee. And those of the named ids whose payee is not known: policies compare counterparties by all of these. It has the rights of its
-- owner: web processes do not read the table, which has keys too. Its path keeps operators and functions of a caller out.
create or replace function {{schema}}.registered_payees(p_address_ids text[], p_fingerprints text[], p_payees text[], p_named text[])
returns table (asked text, name text, address_ids text[])
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  return query
  with paid as materialized (
    select c.address_id, c.fingerprint, c.payee from {{schema}}.counterparty c where c.address_id = any (p_address_ids)
  ), alike as (
    select p.address_id, o.address_id as other from paid p join {{schema}}.counterparty o on o.fingerprint = p.fingerprint
    union
    select p.address_id, o.address_id from paid p join {{schema}}.counterparty o on o.payee = p.payee
  )
  select 'address_id', a.address_id, array_agg(a.other) from alike a where a.other is not null group by a.address_id
  union all
  select 'fingerprint', c.fingerprint, array_agg(distinct c.address_id) from {{schema}}.counterparty c
  where c.fingerprint = any (p_fingerprints) and c.address_id is not null group by c.fingerprint
  union all
  select 'payee', c.payee, array_agg(distinct c.address_id) from {{schema}}.counterparty c
  where c.payee = any (p_payees) and c.address_id is not null group by c.payee
  union all
  select 'named', n.id, '{}' from unnest(p_named) as n (id)
  where not exists (select from {{schema}}.counterparty c where c.address_id = n.id)
    or exists (select from {{schema}}.counterparty c where c.address_id = n.id and c.payee is null);
end
$$;
