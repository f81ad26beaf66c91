-- Locks facts that were neither applied nor refused yet, and their transfers. Returns each with what is known of its transfer, in
-- columns that are null where there is none. The amount is the one that its rail has: with a quote, that of the destination. Facts are
-- locked before transfers, and transfers in the order in which events of the engine lock them, so that nobody deadlocks. Each statement
-- reads anew, since a lock may have waited for another fact of the same transfer. Rows are found by arrays and lateral queries, since a
-- join with a table that was never analyzed would read all of it.
create or replace function {{schema}}.rail_fact_claim(p_ids text[]) returns table (
  fact_id text, id text, account_id text, status text, failure jsonb, flow text, automation_id text, amount_value text,
  amount_currency text, source_transfer_type text, destination_transfer_type text, destination_address_id text, post jsonb,
  awaits_wire boolean, has_reference boolean, reference text, applied_kinds text[], held_kinds text[], returned_value text
) language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_transfers text[];
begin
  select array_agg(l.transfer_id) into v_transfers
    from (
      select f.transfer_id from {{schema}}.rail_fact f
       where f.id = any (p_ids) and f.applied_at is null and f.exception_reason is null
       order by f.id
         for update
    ) l;
  perform from {{schema}}.transfer t
    where t.id = any (v_transfers)
    order by t.account_id, t.id
      for no key update;
  return query
    select f.id, t.id, t.account_id, t.status, t.failure, t.flow, t.automation_id,
           coalesce(t.quote #>> '{destinationAmount,value}', t.amount_value::text),
           coalesce(t.quote #>> '{destinationAmount,currency}', t.amount_currency),
           t.source_transfer_type, t.destination_transfer_type, t.destination_address_id, t.plan -> 'post',
           t.wire_instructions is not null, t.reference is not null, coalesce(t.reference, e.expected),
           coalesce(e.applied, '{}'), coalesce(e.held, '{}'), coalesce(r.value, 0)::text
      from {{schema}}.rail_fact f
      left join lateral (select o.* from {{schema}}.transfer o where o.id = f.transfer_id offset 0) t on true
      left join lateral (
        select max(o.reference) filter (where o.kind = 'expected' and o.applied_at is not null) as expected,
               array_agg(o.kind) filter (where o.applied_at is not null) as applied,
               array_agg(o.kind) filter (where o.exception_reason = 'amount_mismatch' and o.resolved_at is null) as held
          from {{schema}}.rail_fact o
         where o.transfer_id = t.id
           and not coalesce((o.payload #>> '{failure,retriable}')::boolean, false)
      ) e on true
      left join lateral (
        select sum(o.amount_value) as value from {{schema}}.transfer_return o where o.transfer_id = t.id
      ) r on true
     where f.id = any (p_ids) and f.applied_at is null and f.exception_reason is null;
end
$$;
