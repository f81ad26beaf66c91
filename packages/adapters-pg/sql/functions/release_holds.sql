-- Ends some of what holds a transfer, which the caller has locked: a list of {"name": …, "policy": …}. With the last of it the transfer goes to the outbox.
-- True when it does. Its plans are kept.
create or replace function {{schema}}.release_holds(p_id text, p_job uuid, p_holds jsonb, p_notify boolean) returns boolean language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  with ended as (
    delete from {{schema}}.hold h using jsonb_to_recordset(p_holds) as r (name text, policy text)
    where h.transfer_id = p_id and h.name = r.name and h.policy = coalesce(r.policy, '')
    returning h.policy, h.counter
  )
  -- Whoever releases what a limit on sums holds lets it go beyond that limit.
  insert into {{schema}}.limit_pass (transfer_id, name) select p_id, e.policy from ended e where e.counter is not null on conflict do nothing;
  return cardinality({{schema}}.release_unheld(array[p_id], p_notify)) > 0;
end
$$;
