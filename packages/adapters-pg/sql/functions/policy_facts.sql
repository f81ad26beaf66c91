-- What policies need to know of the database: who of those that they name is paid, and what was enqueued before like these transfers, as JSON with its members in one
-- order. Null where all is as usual: nobody who is named, nothing new, nothing alike. It has the rights of its owner: web processes do not read the tables of
-- counterparties. Its path keeps operators and functions of a caller out.
create or replace function {{schema}}.policy_facts(p_named text[], p_address_ids text[], p_fingerprints text[], p_payees text[], p_payments jsonb) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_payees jsonb;
  v_payments jsonb := '[]';
begin
  -- Nearly always none of the named is registered, or all is paid by ids of others: one read of an index says so.
  if cardinality(p_named) > 0 and (cardinality(p_payees) > 0 or exists (select from {{schema}}.counterparty c where c.address_id = any (p_named))) then
    select jsonb_agg(jsonb_build_object('asked', f.asked, 'name', f.name,
        'ids', (select array_agg(i.id order by i.id collate "C") from unnest(f.address_ids) as i (id))) order by f.asked collate "C", f.name collate "C")
    into v_payees from {{schema}}.registered_payees(p_named, p_address_ids, p_fingerprints, p_payees) f;
  end if;
  if p_payments is not null then
    if {{schema}}.has_payment_indexes() then
      select coalesce(jsonb_agg(x.facts order by x.position) filter (where x.facts is not null), '[]') into v_payments
      from (
        select p.position, {{schema}}.payment_facts(p.query) as facts
        from jsonb_array_elements(p_payments) with ordinality as p (query, position)
      ) x;
    else
      v_payments := 'null';
    end if;
  end if;
  return case when v_payees is not null or v_payments <> '[]' then jsonb_build_object('payees', v_payees, 'payments', v_payments)::text end;
end
$$;
