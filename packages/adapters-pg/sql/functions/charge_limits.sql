-- Counts transfers that are about to be claimed where limits on sums count them, and holds those beyond a limit. What is used is read behind its lock,
-- and stays locked until the claim commits: so no sum is ever above its limit, however many claim at once. The oldest go first, and one that does
-- not fit keeps no other one from going. Returns those that come again soon, since somebody else has what they need locked.
--
-- A transfer is counted once in a span: not again when it is sent again. One that has no effect at the service yet moves to the span of its next claim. One
-- whose outcome is unknown is neither counted anew nor held, since it may have been paid. The caller has locked the transfers, and the throttles of
-- their accounts before.
create or replace function {{schema}}.charge_limits(p_ids text[], p_jobs uuid[], p_without text[]) returns text[] language plpgsql as $$
declare
  n record;
  v_left numeric[];
  v_short integer[];
  v_busy text[];
  v_fits boolean;
  v_one record;
  -- Places in what is needed, and in what is short.
  v_counted integer[] := '{}';
  v_over integer[] := '{}';
  v_over_left numeric[] := '{}';
begin
  if not exists (select from {{schema}}.sum_limit) then
    return '{}';
  end if;
  select * into n from {{schema}}.limit_needs(p_ids, p_without, clock_timestamp());
  if n.ids is null then
    return '{}';
  end if;
  v_short := {{schema}}.lock_uses(n.counters, n.scopes, n.began_at, n.until);
  v_busy := array(select distinct i.id from unnest(n.ids, n.places) as i (id, place) where i.place = any (v_short));
  perform {{schema}}.queue_defer(array_agg(j.job), array_agg(clock_timestamp() + interval '5 seconds' * (1 + random())))
  from unnest(p_ids, p_jobs) as j (id, job) where j.id = any (v_busy) having count(*) > 0;
  v_left := {{schema}}.limits_left(n.counters, n.scopes, n.began_at);

  -- Nearly always all of it fits.
  v_fits := not exists (
    select from unnest(n.places, n.amounts) as i (place, amount) group by i.place having sum(i.amount) > min(v_left[i.place]));
  if v_fits then
    v_counted := array(select i.at::integer from unnest(n.ids) with ordinality as i (id, at) where i.id <> all (v_busy));
  end if;
  for v_one in
    select array_agg(i.at::integer) as needs from unnest(n.ids) with ordinality as i (id, at)
    where not v_fits and i.id <> all (v_busy) group by i.id order by i.id collate "C"
  loop
    v_short := array(
      select w from unnest(v_one.needs) w where not n.passes[w] and v_left[n.places[w]] < n.amounts[w]);
    if cardinality(v_short) > 0 then
      v_over := v_over || v_short;
      v_over_left := v_over_left || array(select v_left[n.places[w]] from unnest(v_short) w);
      continue;
    end if;
    v_counted := v_counted || v_one.needs;
    for v_at in 1 .. cardinality(v_one.needs) loop
      v_left[n.places[v_one.needs[v_at]]] := v_left[n.places[v_one.needs[v_at]]] - n.amounts[v_one.needs[v_at]];
    end loop;
  end loop;

  perform {{schema}}.write_charges(array_agg(n.ids[c]), array_agg(n.counters[n.places[c]]), array_agg(n.scopes[n.places[c]]),
    array_agg(n.began_at[n.places[c]]), array_agg(n.until[n.places[c]]), array_agg(n.amounts[c]))
  from unnest(v_counted) c having count(*) > 0;
  perform {{schema}}.hold_beyond(array_agg(n.ids[o.need]), array_agg(n.counters[n.places[o.need]]), array_agg(n.scopes[n.places[o.need]]),
    array_agg(n.began_at[n.places[o.need]]), array_agg(n.until[n.places[o.need]]), array_agg(o.left_of_it))
  from unnest(v_over, v_over_left) as o (need, left_of_it) having count(*) > 0;
  return v_busy;
end
$$;
