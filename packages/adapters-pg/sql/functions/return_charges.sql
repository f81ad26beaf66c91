-- Gives back what is counted of transfers that have ended without being paid, once nothing of them can move money any more: until then it checks again, later and
-- later. Locks what is used in the order of the key, as claims do, and nothing that they wait for; what it does not get keeps nothing else from being given
-- back. Returns how many it gave back.
create or replace function {{schema}}.return_charges(p_limit integer) returns integer language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  v_found text[];
  v_ids text[];
  v_later text[];
  v_counters text[];
  v_scopes text[];
  v_began_at timestamptz[];
  v_until timestamptz[];
  v_short integer[];
  v_busy text[] := '{}';
begin
  v_found := array(
    select r.transfer_id from {{schema}}.limit_refund r where r.due_at <= (select clock_timestamp()) order by r.due_at limit p_limit for update skip locked);
  if cardinality(v_found) = 0 then
    return 0;
  end if;
  select coalesce(array_agg(j.id) filter (where j.effect in ('none', 'known')), '{}'),
    coalesce(array_agg(j.id) filter (where j.effect not in ('none', 'known')), '{}')
  into v_ids, v_later
  from (
    select t.id, {{schema}}.effect_of(t) as effect from {{schema}}.transfer t
    where t.id = any (v_found) and t.stage = 'settled' and t.status in ('canceled', 'failed')
      and exists (select from {{schema}}.limit_charge c where c.transfer_id = t.id)) j;
  update {{schema}}.limit_refund r
  set due_at = clock_timestamp() + least(interval '1 hour', greatest(interval '30 seconds', (clock_timestamp() - r.ended_at) / 4))
  where r.transfer_id = any (v_later);

  select array_agg(k.counter), array_agg(k.scope), array_agg(k.began_at), array_agg(k.until)
  into v_counters, v_scopes, v_began_at, v_until
  from (
    select c.counter, c.scope collate "C" as scope, c.began_at, min(c.until) as until from {{schema}}.limit_charge c
    where c.transfer_id = any (v_ids) group by 1, 2, 3 order by 1, 2, 3
  ) k;
  v_short := case when v_counters is not null then {{schema}}.lock_uses(v_counters, v_scopes, v_began_at, v_until) end;
  if cardinality(v_short) > 0 then
    v_busy := array(
      select distinct c.transfer_id from {{schema}}.limit_charge c join unnest(v_short) as s (place)
        on c.counter = v_counters[s.place] and c.scope = v_scopes[s.place] and c.began_at = v_began_at[s.place]
      where c.transfer_id = any (v_ids));
    update {{schema}}.limit_refund r set due_at = clock_timestamp() + interval '5 seconds' * (1 + random()) where r.transfer_id = any (v_busy);
    v_ids := array(select i.id from unnest(v_ids) as i (id) where i.id <> all (v_busy));
  end if;
  with gone as (
    delete from {{schema}}.limit_charge c where c.transfer_id = any (v_ids) returning c.*
  )
  update {{schema}}.limit_use u set used = u.used - g.amount
  from (select o.counter, o.scope, o.began_at, sum(o.amount) as amount from gone o group by 1, 2, 3) g
  where u.counter = g.counter and u.scope = g.scope and u.began_at = g.began_at;
  -- What is left of these is no refund: the transfer is not here, has not ended after all, or is not counted any more.
  delete from {{schema}}.limit_refund r where r.transfer_id = any (v_found) and r.transfer_id <> all (v_later || v_busy);
  return cardinality(v_ids);
end
$$;
