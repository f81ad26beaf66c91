-- Defers deliveries that are due and cannot be leased, so that no process reads them again and again: events behind an earlier one
-- of their transfer, for a quarter of an hour or until that one is acknowledged. Where they leave no space for others, also events
-- of accounts whose handlers fail. Reads at most `p_limit` events and returns how many it deferred. The earlier event is
-- acknowledged before or after this, never in between: this locks its row, and skips events whose earlier one is locked already.
create or replace function {{schema}}.defer_deliveries(
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
