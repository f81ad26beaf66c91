-- Delivery: what is done with the deliveries of subscriptions, beside fetching and handling them.
-- Replaced as a whole when it changes.

-- Adds types to a subscription; none is ever taken away here, since another release of the host may want it. One that has them
-- all is not locked: a start does not wait for a host that has removed it and not committed.
create or replace function {{schema}}.register_subscription(p_name text, p_types text[]) returns void language plpgsql as $$
begin
  if not exists (select 1 from {{schema}}.subscription s where s.name = p_name and s.types @> p_types) then
    insert into {{schema}}.subscription as s (name, types) values (p_name, p_types)
    on conflict (name) do update
      set types = array(select distinct x.type from unnest(s.types || excluded.types) as x (type) order by x.type)
      where not s.types @> excluded.types;
  end if;
  -- Written by code that was at work while the column came.
  update {{schema}}.delivery d set type = e.type from {{schema}}.event e
  where d.subscription = p_name and d.type is null and e.transfer_id = d.transfer_id and e.sequence = d.sequence;
end
$$;

-- Notes that a process attends these types, unless somebody has the row locked, and answers with the types that any process
-- has attended within `p_within_ms`.
create or replace function {{schema}}.attend_subscription(p_name text, p_types text[], p_within_ms bigint) returns text[] language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
begin
  update {{schema}}.subscription s
  set attended_at = v_at, attended = s.attended || (select jsonb_object_agg(x.type, v_at) from unnest(p_types) as x (type))
  where s.name = (select l.name from {{schema}}.subscription l where l.name = p_name for no key update skip locked);
  return (
    select array_agg(distinct x.type) from (
      select unnest(p_types)
      union all
      select a.key from {{schema}}.subscription s cross join lateral jsonb_each_text(s.attended) a
      where s.name = p_name and a.value::timestamptz > v_at - p_within_ms * interval '1 millisecond'
    ) x (type)
  );
end
$$;

-- Deletes events that were handled, and lets the next one of each transfer come up at once. False, and nothing is done, when
-- the transaction is no longer the one that fetched them: their locks are gone, and perhaps what the handler wrote.
create or replace function {{schema}}.acknowledge_deliveries(p_subscription text, p_xact text, p_ids text[], p_sequences integer[])
returns boolean language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  if pg_current_xact_id_if_assigned()::text is distinct from p_xact then
    return false;
  end if;
  delete from {{schema}}.delivery d using unnest(p_ids, p_sequences) as n (id, sequence)
  where d.subscription = p_subscription and d.transfer_id = n.id and d.sequence = n.sequence;
  -- A statement of its own: it has to see what was put off until a moment ago.
  update {{schema}}.delivery d set due_at = clock_timestamp()
  from (
    select l.transfer_id, l.sequence from unnest(p_ids, p_sequences) as n (id, sequence)
    cross join lateral (
      -- Its time is asked of what the key has found: an index of times has all that is put off.
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

-- Puts off what is due and cannot be taken, so that nobody reads it again and again: events behind an earlier one of their
-- transfer, for a quarter of an hour or until that one is acknowledged, and, where they leave no room for others, events of
-- accounts whose handlers fail. Looks at `p_limit` events at most and answers with how many it put off. Whoever acknowledges the earlier event comes before or behind
-- this, never in between: its row is locked here, and one that is locked already is no reason to put anything off.
create or replace function {{schema}}.put_off_deliveries(
  p_subscription text, p_types text[], p_holding text[], p_accounts text[], p_limit integer
) returns integer language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_count integer;
begin
  with due as materialized (
    select c.transfer_id, c.sequence from unnest(p_types) as y (type) cross join lateral (
      select d.transfer_id, d.sequence, d.due_at from {{schema}}.delivery d
      where d.subscription = p_subscription and d.type = y.type and d.due_at <= statement_timestamp() and not d.dead
      order by d.due_at limit p_limit
    ) c
    order by c.due_at limit p_limit
  ), behind as materialized (
    select w.transfer_id, w.sequence from due w cross join lateral (
      select b.sequence from {{schema}}.delivery b
      where b.subscription = p_subscription and b.transfer_id = w.transfer_id and b.sequence < w.sequence
        and (p_holding is null or b.type = any (p_holding))
      order by b.sequence limit 1 for key share skip locked
    ) l
  ), refused as materialized (
    select w.transfer_id, w.sequence from due w join {{schema}}.transfer t on t.id = w.transfer_id
    where t.account_id = any (p_accounts) and (select count(*) from due) >= p_limit
  ), locked as materialized (
    select d.transfer_id, d.sequence, n.pause from (
      select b.transfer_id, b.sequence, interval '15 minutes' as pause from behind b
      union all
      select r.transfer_id, r.sequence, interval '10 seconds' from refused r
      where not exists (select 1 from behind b where b.transfer_id = r.transfer_id and b.sequence = r.sequence)
    ) n
    join {{schema}}.delivery d on d.subscription = p_subscription and d.transfer_id = n.transfer_id and d.sequence = n.sequence
    for no key update of d skip locked
  )
  update {{schema}}.delivery d set due_at = clock_timestamp() + l.pause * (1 + random())
  from locked l where d.subscription = p_subscription and d.transfer_id = l.transfer_id and d.sequence = l.sequence;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- Lets everything come up that was put off and has not failed.
create or replace function {{schema}}.bring_up_deliveries(p_subscription text) returns void language sql as $$
  update {{schema}}.delivery d set due_at = clock_timestamp()
  where (d.subscription, d.transfer_id, d.sequence) in (
    select l.subscription, l.transfer_id, l.sequence from {{schema}}.delivery l
    where l.subscription = p_subscription and l.due_at > statement_timestamp() and l.failures = 0 and not l.dead for no key update skip locked)
$$;

-- Removes a subscription, or some of its types, with the events that it has yet to handle; while there are any, only if told
-- to discard them. It waits for handlers that have one in hand.
create or replace function {{schema}}.remove_subscription(p_name text, p_types text[], p_discard boolean)
returns table (known boolean, removed boolean, pending integer) language plpgsql as $$
begin
  select true into known from {{schema}}.subscription s
  where s.name = p_name and (p_types is null or s.types && p_types) for update;
  select count(*) into pending from {{schema}}.delivery d where d.subscription = p_name and (p_types is null or d.type = any (p_types));
  known := coalesce(known, false) or pending > 0;
  removed := known and (pending = 0 or p_discard);
  if removed then
    delete from {{schema}}.delivery d where d.subscription = p_name and (p_types is null or d.type = any (p_types));
    update {{schema}}.subscription s
    set types = array(select x.type from unnest(s.types) as x (type) where x.type <> all (p_types)), attended = s.attended - p_types
    where s.name = p_name and p_types is not null;
    delete from {{schema}}.subscription s where s.name = p_name and (p_types is null or s.types = '{}');
    perform {{schema}}.bring_up_deliveries(p_name);
  end if;
  return next;
end
$$;
