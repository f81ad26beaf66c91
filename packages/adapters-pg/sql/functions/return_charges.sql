-- Gives back what is counted of transfers that have ended without an effect. Locks what is used in the order of the key, as claims do, and nothing that
-- they wait for. Returns how many it gave back.
create or replace function {{schema}}.return_charges(p_limit integer) returns integer language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  v_ids text[];
begin
  with taken as (
    delete from {{schema}}.limit_refund r
    where r.transfer_id in (select n.transfer_id from {{schema}}.limit_refund n order by n.transfer_id limit p_limit for update skip locked)
    returning r.transfer_id
  )
  select array_agg(t.transfer_id) into v_ids from taken t;
  if v_ids is null then
    return 0;
  end if;
  perform from (
    select distinct c.counter, c.scope, c.began_at from {{schema}}.limit_charge c where c.transfer_id = any (v_ids)
  ) k
  join {{schema}}.limit_use u on u.counter = k.counter and u.scope = k.scope and u.began_at = k.began_at
  order by u.counter, u.scope, u.began_at for update of u;
  with gone as (
    delete from {{schema}}.limit_charge c where c.transfer_id = any (v_ids) returning c.*
  )
  update {{schema}}.limit_use u set used = u.used - g.amount
  from (select o.counter, o.scope, o.began_at, sum(o.amount) as amount from gone o group by 1, 2, 3) g
  where u.counter = g.counter and u.scope = g.scope and u.began_at = g.began_at;
  return cardinality(v_ids);
end
$$;
