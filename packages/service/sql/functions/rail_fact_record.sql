-- Writes facts of rails, each once by its fingerprint, and returns the stored ones, in the order of the given. A deposit whose
-- reference has another content is written as an exception. Waits for others that write the same facts.
create or replace function {{schema}}.rail_fact_record(p_facts jsonb, p_now timestamptz)
returns setof {{schema}}.rail_fact language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  insert into {{schema}}.rail_fact
    (id, kind, rail, reference, transfer_id, account_id, amount_value, amount_currency, fingerprint, payload, received_at)
  select g.id, g.kind, g.rail, g.reference, g.transfer_id, g.account_id, g.amount_value, g.amount_currency, g.fingerprint,
         g.payload, p_now
    from jsonb_populate_recordset(null::{{schema}}.rail_fact, p_facts) g
   order by g.fingerprint
      on conflict do nothing;

  insert into {{schema}}.rail_fact
    (id, kind, rail, reference, transfer_id, account_id, amount_value, amount_currency, fingerprint, payload, received_at,
     exception_reason)
  select g.id, g.kind, g.rail, g.reference, g.transfer_id, g.account_id, g.amount_value, g.amount_currency, g.fingerprint,
         g.payload, p_now, 'reference_reused'
    from jsonb_populate_recordset(null::{{schema}}.rail_fact, p_facts) g
   where g.kind = 'deposit'
     and not exists (select from {{schema}}.rail_fact f where f.fingerprint = g.fingerprint)
   order by g.fingerprint
      on conflict do nothing;

  return query
    select f.*
      from jsonb_array_elements(p_facts) with ordinality as g(fact, position)
     cross join lateral (
       select o.* from {{schema}}.rail_fact o where o.fingerprint = g.fact ->> 'fingerprint' offset 0
     ) f
     order by g.position;
end
$$;
