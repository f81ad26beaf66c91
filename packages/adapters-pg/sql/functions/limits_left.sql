-- How much of sums is left, by their places. Null where the limit is gone.
create or replace function {{schema}}.limits_left(p_counters text[], p_scopes text[], p_began_at timestamptz[]) returns numeric[] language plpgsql as $$
begin
  return array(
    select l.most - coalesce(u.used, 0) from unnest(p_counters, p_scopes, p_began_at) with ordinality as k (counter, scope, began_at, place)
    left join {{schema}}.limit_use u on u.counter = k.counter and u.scope = k.scope and u.began_at = k.began_at
    left join {{schema}}.sum_limit l on l.counter = k.counter
    order by k.place);
end
$$;
