-- What a person has applied stays so where its transfer, {id, status, failure} each, ends otherwise, and an exception of its own says that. Of a wire,
-- `book_ends_of_arrivals` says so. Returns the ids of the exceptions.
create or replace function {{schema}}.contradict_accepted(p_ended jsonb) returns text[] language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_ids text[];
begin
  with accepted as (
    insert into {{schema}}.rail_fact
      (id, kind, rail, reference, transfer_id, account_id, amount_value, amount_currency, fingerprint, payload, received_at, exception_reason)
    select {{schema}}.ulid_at(t.updated_at), o.kind, o.rail, o.reference, o.transfer_id, o.account_id, o.amount_value, o.amount_currency,
           'contradicted ' || o.id, o.payload, t.updated_at, 'status_contradicted'
      from jsonb_to_recordset(p_ended) as c(id text, status text, failure jsonb)
     cross join lateral (
       select n.updated_at, n.wire_instructions is not null as awaits_wire from {{schema}}.transfer n where n.id = c.id offset 0
     ) t
     cross join lateral (
       select a.* from {{schema}}.rail_fact a
        where a.transfer_id = c.id and a.applied_at is not null and a.exception_reason is not null
       offset 0
     ) o
     where o.kind = any (case c.status when 'complete' then array['rejected', 'returned', 'canceled'] else array['settled'] end)
       and not (t.awaits_wire and o.kind = 'settled')
       and not coalesce((coalesce(nullif(c.failure, 'null'), o.payload -> 'failure') ->> 'retriable')::boolean, false)
        on conflict do nothing
    returning id
  )
  select array_agg(a.id) into v_ids from accepted a;
  return coalesce(v_ids, '{}');
end
$$;
