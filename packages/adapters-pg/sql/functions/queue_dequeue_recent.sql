-- Between two fetches that go through all accounts: removes the transfers from the outbox that are ready and have an id of the last three
-- seconds. The primary key leads past older dead rows, which vacuum cannot remove while a transaction is open that might see them, and
-- which each walk through the accounts reads again. The turn stays; it is null when the next walk is due, and when more are ready than the
-- limit: then accounts have to take turns. Skips locked ones. A walk finds all that is ready: what a host committed late, for instance.
create or replace function {{schema}}.queue_dequeue_recent(
  p_limit integer, p_turn text, p_gateways text[] default null, out ids uuid[], out fetches integer[], out turn text
) language plpgsql as $$
declare
  v_now bigint := extract(epoch from clock_timestamp()) * 1000;
  v_walk_at bigint := substring(p_turn from '\n(\d{1,18})$')::bigint;
  v_recent uuid[];
begin
  ids := '{}';
  fetches := '{}';
  -- A clock that was set back puts no walk off.
  if v_walk_at is null or v_now >= v_walk_at or v_now < v_walk_at - 2000 then
    return;
  end if;
  v_recent := array(
    select o.id from {{schema}}.outbox o
    where o.ready and o.id > (lpad(to_hex(v_now - 3000), 12, '0') || repeat('0', 20))::uuid
      and (p_gateways is null or {{schema}}.gateway_of(o.account_id) = any (p_gateways)) order by o.id limit p_limit + 1);
  if cardinality(v_recent) > p_limit then
    return;
  end if;
  turn := p_turn;
  with removed as (
    delete from {{schema}}.outbox o
    where o.id = any (array(select w.id from {{schema}}.outbox w where w.id = any (v_recent) and w.ready for update skip locked))
    returning o.id, o.fetches
  )
  select coalesce(array_agg(t.id order by t.id), '{}'), coalesce(array_agg(t.fetches order by t.id), '{}') into ids, fetches
  from removed t;
end
$$;
-- Earlier workers call it through a function that has been replaced by now.
drop function if exists {{schema}}.queue_dequeue_recent(integer, text);
