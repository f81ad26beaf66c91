-- Deletes events that were handled and makes the next event of each transfer due at once. Returns false and does nothing when
-- the transaction is no longer the one that fetched them: their locks are gone, and perhaps what the handler wrote.
create or replace function {{schema}}.acknowledge_deliveries(p_subscription text, p_xact text, p_ids text[], p_sequences integer[])
returns boolean language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  if pg_current_xact_id_if_assigned()::text is distinct from p_xact then
    return false;
  end if;
  delete from {{schema}}.delivery d using unnest(p_ids, p_sequences) as n (id, sequence)
  where d.subscription = p_subscription and d.transfer_id = n.id and d.sequence = n.sequence;
  -- A separate statement: it has to see what was deferred until a moment ago.
  update {{schema}}.delivery d set due_at = clock_timestamp()
  from (
    select l.transfer_id, l.sequence from unnest(p_ids, p_sequences) as n (id, sequence)
    cross join lateral (
      -- Reads the time of the row that the key finds: an index of times has every deferred delivery.
      select x.sequence, x.due_at from {{schema}}.delivery x
      where x.subscription = p_subscription and x.transfer_id = n.id and x.sequence > n.sequence order by x.sequence limit 1
    ) m
    join {{schema}}.delivery l on l.subscription = p_subscription and l.transfer_id = n.id and l.sequence = m.sequence
    where m.due_at > statement_timestamp() and l.failures = 0 and not l.dead
    for no key update of l skip locked
  ) w
  where d.subscription = p_subscription and d.transfer_id = w.transfer_id and d.sequence = w.sequence;
  return true;
end
$$;
