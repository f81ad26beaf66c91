-- Deletes events that were handled and makes the next deferred event of each transfer due at once. Returns false and does nothing when
-- the transaction is no longer the one that fetched them: their locks are gone, and perhaps what the handler wrote. One by one:
-- joined to a set, a plan for a table that Postgres believes to be empty reads all events of the subscription.
create or replace function {{schema}}.acknowledge_deliveries(p_subscription text, p_xact text, p_ids text[], p_sequences integer[])
returns boolean language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $$
declare
  v_one record;
begin
  if pg_current_xact_id_if_assigned()::text is distinct from p_xact then
    return false;
  end if;
  for v_one in select n.id, n.sequence from unnest(p_ids, p_sequences) as n (id, sequence) loop
    delete from {{schema}}.delivery d
    where d.subscription = p_subscription and d.transfer_id = v_one.id and d.sequence = v_one.sequence;
  end loop;
  -- Separate statements: they have to see what was deferred until a moment ago.
  for v_one in select n.id, max(n.sequence) as sequence from unnest(p_ids, p_sequences) as n (id, sequence) group by n.id loop
    update {{schema}}.delivery d set ready = true, due_at = clock_timestamp()
    where d.subscription = p_subscription and d.transfer_id = v_one.id and d.sequence = (
      -- Not simply the next event: that may be of a type that no process attends, and defers no other. The key alone finds it,
      -- which the case is for: the index of deferred events has all of them.
      select l.sequence from (
        select x.sequence, x.ready, x.failures, x.dead from {{schema}}.delivery x
        where x.subscription = p_subscription and x.transfer_id = v_one.id and x.sequence = (
          select min(n.sequence) from {{schema}}.delivery n
          where n.subscription = p_subscription and n.transfer_id = v_one.id and n.sequence > v_one.sequence
            and case when n.ready or n.dead then false else n.failures = 0 end)
        limit 1 for no key update skip locked) l
      where not l.ready and l.failures = 0 and not l.dead);
  end loop;
  return true;
end
$$;
