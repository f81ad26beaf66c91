-- Removes what is ready from the outbox where that is no more than the limit: then nobody has to take turns. Skips locked ones. The turn stays;
-- it is null where more are ready.
--
-- Between two fetches that go through all accounts, it removes those that have an id of the last three seconds: the primary key leads past
-- older dead rows, which vacuum cannot remove while a transaction is open that might see them, and which each walk reads again. A walk finds
-- all that is ready: what a host committed late, for instance.
create or replace function {{schema}}.queue_dequeue_few(
  p_limit integer, p_turn text, p_gateways text[], out ids uuid[], out fetches integer[], out turn text
) language plpgsql as $$
declare
  v_began_at timestamptz := clock_timestamp();
  v_now bigint := extract(epoch from v_began_at) * 1000;
  v_walk_at bigint := substring(p_turn from '\n(\d{1,18})$')::bigint;
  v_ready uuid[];
  v_count integer;
begin
  -- A clock that was set back puts no walk off.
  if v_walk_at > v_now and v_walk_at <= v_now + 2000 then
    v_ready := array(
      select o.id from {{schema}}.outbox o
      where o.ready and o.id > (lpad(to_hex(v_now - 3000), 12, '0') || repeat('0', 20))::uuid
        and (p_gateways is null or {{schema}}.gateway_of(o.account_id) = any (p_gateways)) order by o.id limit p_limit + 1);
    v_count := cardinality(v_ready);
  else
    v_walk_at := null;
    -- Those of other gateways may be very many.
    select count(*), array_agg(o.id) filter (where p_gateways is null or {{schema}}.gateway_of(o.account_id) = any (p_gateways)) into v_count, v_ready
    from (select o.id, o.account_id from {{schema}}.outbox o where o.ready limit p_limit + 1) o;
  end if;
  if v_count > p_limit then
    return;
  end if;
  with removed as (
    delete from {{schema}}.outbox o
    where o.id = any (array(select w.id from {{schema}}.outbox w where w.id = any (v_ready) and w.ready for update skip locked))
    returning o.id, o.fetches
  )
  select coalesce(array_agg(t.id order by t.id), '{}'), coalesce(array_agg(t.fetches order by t.id), '{}') into ids, fetches
  from removed t;
  turn := case when v_walk_at is null
    then coalesce(split_part(p_turn, e'\n', 1), {{schema}}.queue_first_turn()) || {{schema}}.queue_next_walk(v_began_at) else p_turn end;
end
$$;
-- Earlier workers call it through a function that has been replaced by now.
drop function if exists {{schema}}.queue_dequeue_recent(integer, text);
drop function if exists {{schema}}.queue_dequeue_recent(integer, text, text[]);
