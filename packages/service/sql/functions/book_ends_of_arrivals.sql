-- Books what has arrived for transfers that have ended otherwise, {id, status, failure} each. A wire whose transfer was rejected or canceled is in the
-- settlement account then, and an exception of its own says so, since its arrival was right. One that went back with the end never was there, and the
-- receipt of a deposit that went back is reversed. A receipt is in the currency of the bank. What a fact says of the end comes before what the engine says.
-- `p_contradicted` has the facts that are exceptions since the end. Returns the ids of the exceptions.
create or replace function {{schema}}.book_ends_of_arrivals(p_ended jsonb, p_contradicted text[]) returns text[] language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_stranded text[];
  v_gone text[];
  v_ids text[];
  v_receipts jsonb;
begin
  select array_agg(c.id) filter (where t.awaits_wire and not e.went_back), array_agg(c.id) filter (where t.is_deposit and e.went_back)
    into v_stranded, v_gone
    from jsonb_to_recordset(p_ended) as c(id text, status text, failure jsonb)
   cross join lateral (
     select o.wire_instructions is not null as awaits_wire, o.automation_id is not null as is_deposit
       from {{schema}}.transfer o where o.id = c.id offset 0
   ) t
   cross join lateral (
     select coalesce(
              bool_or(o.kind = 'returned') filter (where o.kind in ('rejected', 'returned')),
              c.failure ->> 'type' = 'returned',
              false
            ) as went_back
       from {{schema}}.rail_fact o
      where o.transfer_id = c.id and o.applied_at is not null
        and not coalesce((o.payload #>> '{failure,retriable}')::boolean, false)
   ) e
   where c.status in ('failed', 'canceled') and not coalesce((nullif(c.failure, 'null') ->> 'retriable')::boolean, false);

  with arrived as (
    insert into {{schema}}.rail_fact
      (id, kind, rail, reference, transfer_id, account_id, amount_value, amount_currency, fingerprint, payload, received_at, exception_reason)
    select {{schema}}.ulid_at(t.updated_at), o.kind, o.rail, o.reference, o.transfer_id, o.account_id, o.amount_value, o.amount_currency,
           'stranded ' || o.transfer_id, o.payload, t.updated_at, 'status_contradicted'
      from unnest(v_stranded) as given (transfer_id)
     cross join lateral (
       select a.* from {{schema}}.rail_fact a
        where a.transfer_id = given.transfer_id and a.kind in ('accepted', 'settled') and a.applied_at is not null
          and a.rail is not null and a.amount_value is not null
        order by a.id
        limit 1
     ) o
     cross join lateral (select n.updated_at from {{schema}}.transfer n where n.id = given.transfer_id offset 0) t
     -- Its settlement is one by now, and has its money.
     where not exists (
       select from {{schema}}.rail_fact s
        where s.transfer_id = given.transfer_id and s.id = any (p_contradicted) and s.kind = 'settled'
     )
        on conflict do nothing
    returning id, rail, amount_value, transfer_id
  )
  select array_agg(a.id), jsonb_agg(jsonb_build_object('posting', a.id, 'step', 'deposit', 'lines', (
           select jsonb_agg(jsonb_build_object('kind', l.kind, 'account', '', 'address', '', 'value', t.source_value_type,
                                               'rail', a.rail, 'bucket', 'available', 'amount', l.sign * a.amount_value) order by l.sign)
             from (values ('outside', -1), ('settlement', 1)) as l(kind, sign)
         )))
    into v_ids, v_receipts
    from arrived a
   cross join lateral (select o.source_value_type from {{schema}}.transfer o where o.id = a.transfer_id offset 0) t;
  if v_receipts is not null then
    perform {{schema}}.ledger_apply_many(v_receipts);
  end if;
  if v_gone is not null then
    perform {{schema}}.transfer_take_back(v_gone);
  end if;
  return coalesce(v_ids, '{}');
end
$$;
