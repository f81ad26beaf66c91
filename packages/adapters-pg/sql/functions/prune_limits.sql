-- Deletes what is counted of spans that are over: what of it is a transfer's after a day, the sums after ninety. Deletes what people let pass of
-- transfers that were sent. Returns how many rows of transfers or of sums it deleted, whichever are more, at most so many.
create or replace function {{schema}}.prune_limits(p_limit integer) returns integer language plpgsql as $$
declare
  v_count integer;
  v_uses integer;
begin
  delete from {{schema}}.limit_charge c where (c.transfer_id, c.counter) in (
    select o.transfer_id, o.counter from {{schema}}.limit_charge o
    where o.until < clock_timestamp() - interval '1 day' order by o.until limit p_limit for update skip locked);
  get diagnostics v_count = row_count;
  delete from {{schema}}.limit_use u where (u.counter, u.scope, u.began_at) in (
    select o.counter, o.scope, o.began_at from {{schema}}.limit_use o
    where o.until < clock_timestamp() - interval '90 days' order by o.until limit p_limit for update skip locked);
  get diagnostics v_uses = row_count;
  delete from {{schema}}.limit_pass p using {{schema}}.transfer t where t.id = p.transfer_id and t.stage in ('submitted', 'settled');
  return greatest(v_count, v_uses);
end
$$;
