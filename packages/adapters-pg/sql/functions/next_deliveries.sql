-- Locks the next ready events of a subscription that one process handles together, at most `p_limit`, as ready_deliveries() finds them. An earlier event of the
-- same transfer that is not acknowledged yet, dead or alive, defers the later ones, whatever process it is for. First it reads a few times as many events as it
-- may return, and all that ready_deliveries() may read when others have each of those and there are more.
--
-- An event is locked by its key alone, which the case is for: a connection keeps the plan that it made while the table was small, and the index of ready
-- events has all of the subscription.
create or replace function {{schema}}.next_deliveries(
  p_subscription text, p_except text[], p_account text, p_due_at timestamptz, p_transfer text, p_sequence integer, p_types text[],
  p_holding text[], p_except_transfers text[], p_limit integer, p_window integer
) returns table (account_id text, due_at timestamptz, transfer_id text, sequence integer, failures integer, begun boolean) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_events integer := least(4 * p_limit, p_window);
  v_most integer := 2 * v_events;
  v_ids text[];
  v_sequences integer[];
begin
  loop
    select array_agg(c.transfer_id), array_agg(c.sequence) into v_ids, v_sequences
    from {{schema}}.ready_deliveries(
      p_subscription, p_except, p_account, p_due_at, p_transfer, p_sequence, p_types, p_window, v_events, v_most) c;
    return query
    select l.* from unnest(v_ids, v_sequences) as c (transfer_id, sequence)
    cross join lateral (
      select d.account_id, d.due_at, d.transfer_id, d.sequence, d.failures, d.begun from {{schema}}.delivery d
      where d.subscription = p_subscription and d.transfer_id = c.transfer_id and d.sequence = c.sequence
        and case when d.ready then not d.dead else false end and d.transfer_id <> all (p_except_transfers)
        and (
          select b.sequence from {{schema}}.delivery b
          where b.subscription = p_subscription and b.transfer_id = d.transfer_id and b.sequence < d.sequence
            and (p_holding is null or b.type = any (p_holding))
          order by b.sequence limit 1) is null
      for update skip locked
    ) l limit p_limit;
    -- Neither an account nor all of them can have had more than it read of so few.
    exit when found or v_most > 2 * p_window or coalesce(cardinality(v_ids), 0) < v_events;
    v_events := p_window;
    v_most := 10 * p_window;
  end loop;
end
$$;
