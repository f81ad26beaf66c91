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
    with given as materialized (
      select f.id, f.transfer_id from {{schema}}.rail_fact f
       where f.id = any (p_ids) and f.applied_at is null and f.exception_reason is null
    ), known as materialized (
      -- Once for each transfer, however many of its facts come together.
      select t.*, e.expected, e.applied, e.held, (coalesce(r.value, 0) - coalesce(e.moved_again, 0) 
                          + {{schema}}.deposit_taken_back(t.id))::text as returned
        from (select distinct g.transfer_id from given g) as one
       cross join lateral (select o.* from {{schema}}.transfer o where o.id = one.transfer_id offset 0) t
       cross join lateral (
         select max(o.reference) filter (where o.kind = 'expected' and o.applied_at is not null) as expected,
                -- A failure that may be retried is no end. What is held is held all the same.
                array_agg(distinct o.kind) filter (where o.applied_at is not null and not o.is_retriable) as applied,
                -- Kinds of what a person decides, or has decided; `disputed` for what is more than the amount of a payment. That decided about
                -- the amount leaves the transfer as it is.
                array_agg(distinct case
                  when o.exception_reason = 'amount_mismatch' and (
                    o.resolution = 'applied' or (o.resolved_at is null and o.kind in ('accepted', 'settled'))
                  ) then o.kind
                  else 'disputed'
                end) filter (
                  where o.kind in ('accepted', 'settled', 'rejected', 'returned', 'canceled', 'unreadable') and {{schema}}.is_of_transfer(o.exception_reason)
                ) as held,
                -- What came back and moved again, as a person has decided. Another report of it was applied, too, and booked nothing.
                sum(o.amount_value) filter (
                  where o.kind = 'settled' and not o.is_retriable and o.resolution = 'applied' and exists (
                    select from {{schema}}.ledger_entry l where l.posting_id = o.id and l.step = 'post'
                  )
                ) as moved_again
           from (
             select f.id, f.kind, f.reference, f.amount_value, f.applied_at, f.exception_reason, f.resolved_at, f.resolution,
                    coalesce((f.payload #>> '{failure,retriable}')::boolean, false) as is_retriable
               from {{schema}}.rail_fact f where f.transfer_id = t.id offset 0
           ) o
       ) e
       cross join lateral (
         select sum(o.amount_value) as value from {{schema}}.transfer_return o where o.transfer_id = t.id
       ) r
    )
    select g.id, k.id, k.account_id, k.status, k.failure, k.flow, k.automation_id,
           coalesce(k.quote #>> '{destinationAmount,value}', k.amount_value::text),
           coalesce(k.quote #>> '{destinationAmount,currency}', k.amount_currency),
           k.source_transfer_type, k.destination_transfer_type, k.destination_address_id, k.plan -> 'post',
           k.wire_instructions is not null, k.reference is not null, coalesce(k.reference, k.expected),
           coalesce(k.applied, '{}'), coalesce(k.held, '{}'), k.returned
      from given g
      left join known k on k.id = g.transfer_id;
end
$$;
