-- Defers those of the deliveries that are behind an earlier one of their transfer, for a quarter of an hour or until that one is
-- acknowledged, so that no process reads them again and again. Returns how many it deferred. The earlier event is acknowledged
-- before or after this, never in between: this locks its row, and skips events whose earlier one is locked already.
create or replace function {{schema}}.defer_deliveries(p_subscription text, p_holding text[], p_ids text[], p_sequences integer[])
returns integer language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $$
declare
  v_one record;
  v_count integer := 0;
begin
  for v_one in select n.id, n.sequence from unnest(p_ids, p_sequences) as n (id, sequence) loop
    perform from {{schema}}.delivery b
    where b.subscription = p_subscription and b.transfer_id = v_one.id and b.sequence < v_one.sequence
      and (p_holding is null or b.type = any (p_holding))
    order by b.sequence limit 1 for key share skip locked;
    continue when not found;
    update {{schema}}.delivery d set ready = false, due_at = clock_timestamp() + interval '15 minutes' * (1 + random())
    where d.subscription = p_subscription and d.transfer_id = v_one.id and d.sequence = (
      select l.sequence from {{schema}}.delivery l
      where l.subscription = p_subscription and l.transfer_id = v_one.id and l.sequence = v_one.sequence for no key update skip locked);
    if found then
      v_count := v_count + 1;
    end if;
  end loop;
  return v_count;
end
$$;
