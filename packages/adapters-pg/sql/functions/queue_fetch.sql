-- Removes transfers to these gateways, or to all, that are ready from the outbox and makes their jobs active, in the order of queue_take_turns(). `p_turn` is
-- where the last fetch of the worker left off; null for a worker that begins. Returns the jobs, how often each was fetched before, and the next turn.
-- After a slow fetch that left nothing, that has a second line: the time of the next one that goes through the accounts, until which
-- queue_dequeue_few() finds what is new.
create or replace function {{schema}}.queue_fetch(
  p_limit integer, p_turn text, p_gateways text[] default null, out jobs uuid[], out retry_counts integer[], out turn text
) language plpgsql as $$
declare
  v_ids uuid[];
begin
  perform {{schema}}.queue_refill();
  select f.ids, f.fetches, f.turn into jobs, retry_counts, turn from {{schema}}.queue_dequeue_few(p_limit, p_turn, p_gateways) f;
  if turn is null then
    select t.ids, t.fetches, t.turn into jobs, retry_counts, turn from {{schema}}.queue_take_turns(p_limit, p_turn, p_gateways) t;
  end if;
  v_ids := case when cardinality(jobs) > 0 then {{schema}}.queue_activate(jobs, retry_counts) end;
  if cardinality(v_ids) < cardinality(jobs) then
    select coalesce(array_agg(n.job order by n.position), '{}'), array_agg(n.retry_count order by n.position) into jobs, retry_counts
    from unnest(jobs, retry_counts) with ordinality as n (job, retry_count, position) where n.job = any (v_ids);
  end if;
end
$$;
-- Earlier workers call it through a function that has been replaced by now.
drop function if exists {{schema}}.queue_fetch(integer, text);
