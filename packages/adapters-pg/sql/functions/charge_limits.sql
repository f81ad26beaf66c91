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
  f record;
  v_left numeric[];
  v_short integer[];
  v_busy text[];
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

  f := {{schema}}.fit_needs(n.ids, n.places, n.amounts, n.passes, v_left, v_busy);
  perform {{schema}}.write_charges(array_agg(n.ids[c]), array_agg(n.counters[n.places[c]]), array_agg(n.scopes[n.places[c]]),
    array_agg(n.began_at[n.places[c]]), array_agg(n.until[n.places[c]]), array_agg(n.amounts[c]))
  from unnest(f.counted) c having count(*) > 0;
  perform {{schema}}.hold_beyond(array_agg(n.ids[o.need]), array_agg(n.counters[n.places[o.need]]), array_agg(n.scopes[n.places[o.need]]),
    array_agg(n.began_at[n.places[o.need]]), array_agg(n.until[n.places[o.need]]), array_agg(o.left_of_it))
  from unnest(f.beyond, f.beyond_left) as o (need, left_of_it) having count(*) > 0;
  return v_busy;
end
$$;
