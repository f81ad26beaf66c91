-- Fingerprints of the details of addresses, by their ids, of those that the engine has registered: policies compare counterparties by them. It has the
-- rights of its owner: web processes do not read the table, which has keys too. Its path keeps operators and functions of a
-- caller out.
create or replace function {{schema}}.registered_fingerprints(p_ids text[]) returns table (address_id text, fingerprints text[])
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  return query
  select c.address_id, array_agg(distinct c.fingerprint) from {{schema}}.counterparty c where c.address_id = any (p_ids) group by c.address_id;
end
$$;
