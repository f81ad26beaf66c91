-- Which of the named ids of addresses are of payees that are asked for, at any gateway and for any account: by the id of another address with the payee, by the
-- fingerprint of details, and by the digest of a payee. Where a payee is asked for, also the named ids whose payee is not known. All goes by the named ids, so
-- that a payee of very many accounts costs nothing. It has the rights of its owner: web processes do not read the table, which has keys too. Its path keeps
-- operators and functions of a caller out.
create or replace function {{schema}}.registered_payees(p_named text[], p_address_ids text[], p_fingerprints text[], p_payees text[])
returns table (asked text, name text, address_ids text[])
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  return query
  with named as materialized (
    select c.address_id, c.fingerprint, c.payee from {{schema}}.counterparty c where c.address_id = any (p_named)
  ), paid as materialized (
    select c.address_id, c.fingerprint, c.payee from {{schema}}.counterparty c where c.address_id = any (p_address_ids)
  ), alike as (
    select p.address_id, n.address_id as other from paid p join named n on n.fingerprint = p.fingerprint
    union
    select p.address_id, n.address_id from paid p join named n on n.payee = p.payee
  )
  select 'address_id', a.address_id, array_agg(a.other) from alike a group by a.address_id
  union all
  select 'fingerprint', n.fingerprint, array_agg(distinct n.address_id) from named n where n.fingerprint = any (p_fingerprints) group by n.fingerprint
  union all
  select 'payee', n.payee, array_agg(distinct n.address_id) from named n where n.payee = any (p_payees) group by n.payee
  union all
  select 'unknown', '', array_agg(i.id) from unnest(p_named) as i (id)
  left join (select n.address_id, bool_and(n.payee is not null) as is_known from named n group by n.address_id) k on k.address_id = i.id
  where k.is_known is not true and cardinality(p_payees) > 0 having count(*) > 0;
end
$$;
