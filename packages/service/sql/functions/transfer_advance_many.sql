-- Moves transfers forward and moves their money. A step is {id, from, to, failure, reference}. Returns the rows afterwards of those that
-- exist and whose status was in `from`. While a failure is retriable, the transfer may leave it and keeps its hold. The status after a
-- failure gets a later time than the failure, even if the rails use another clock, so the two times show a reader which one was last.
-- A fact of a rail that was applied before, and says that the transfer ended otherwise, is an exception from then on. A transfer whose wire a person has
-- given to another one is not completed by what a poll has said before.
create or replace function {{schema}}.transfer_advance_many(p_steps jsonb, p_now timestamptz)
returns setof {{schema}}.transfer language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_changed {{schema}}.transfer[];
begin
  -- In the order in which facts of the rails lock these rows, so that the two never deadlock. What follows reads anew.
  perform from jsonb_to_recordset(p_steps) as g(id text)
     join {{schema}}.transfer t on t.id = g.id
    order by t.account_id, t.id
      for no key update of t;
  with given as materialized (
    select * from jsonb_to_recordset(p_steps) as g(id text, "from" text[], "to" text, failure jsonb, reference text)
  ), advanced as (
    update {{schema}}.transfer t
       set status = g."to",
           failure = nullif(g.failure, 'null'),
           reference = coalesce(t.reference, g.reference),
           source_transaction_id = case when t.reference_legs in ('source', 'both')
             then coalesce(t.source_transaction_id, g.reference) else t.source_transaction_id end,
           destination_transaction_id = case when t.reference_legs in ('destination', 'both')
             then coalesce(t.destination_transaction_id, g.reference) else t.destination_transaction_id end,
           -- A failure may be said to be at the end of time.
           updated_at = least(greatest(
             p_now,
             t.updated_at,
             {{schema}}.moment_of(t.failure ->> 'occurredAt') + interval '1 millisecond'
           ), '9999-12-31T23:59:59.999Z')
      from given g
     where t.id = g.id and t.status = any (g."from")
       and (t.status <> 'failed' or coalesce((t.failure ->> 'retriable')::boolean, false))
       and not (g."to" = 'complete' and t.wire_instructions is not null and {{schema}}.transfer_lost_wire(t.id))
    returning t as row
  )
  select array_agg(a.row) into v_changed from advanced a;

  perform {{schema}}.ledger_apply_many((
    select jsonb_agg(jsonb_build_object('posting', e.id, 'step', e.step, 'lines', e.plan -> e.step))
      from (
        select c.id, c.plan, case
                 when c.status = 'complete' then 'post'
                 when c.status = 'canceled' then 'void'
                 when c.status = 'failed' and not coalesce((c.failure ->> 'retriable')::boolean, false) then 'void'
               end as step
          from unnest(v_changed) c
      ) e
     where e.step is not null
  ));

  perform {{schema}}.rail_fact_contradict(jsonb_agg(jsonb_build_object('id', c.id, 'status', c.status, 'failure', c.failure)))
     from unnest(v_changed) c
    where c.status in ('complete', 'failed', 'canceled')
   having count(*) > 0;
  return query select c.* from unnest(v_changed) c;
end
$$;
