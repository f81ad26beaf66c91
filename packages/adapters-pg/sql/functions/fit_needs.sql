-- Which of what transfers need fits into what is left of sums, behind the lock of these: places in what is needed, and what is left where it is beyond. The oldest
-- go first, and one that does not fit keeps no other one from going. A sum of which null is left has no limit any more. An unknown
-- amount, which is infinite, is beyond that one, too: counted, it would be no number.
create or replace function {{schema}}.fit_needs(
  p_ids text[], p_places integer[], p_amounts numeric[], p_passes boolean[], p_left numeric[], p_busy text[],
  out counted integer[], out beyond integer[], out beyond_left numeric[]
) language plpgsql as $$
declare
  v_fits boolean;
  v_one record;
  v_short integer[];
begin
  counted := '{}';
  beyond := '{}';
  beyond_left := '{}';
  -- Nearly always all of it fits.
  v_fits := 'Infinity' <> all (p_amounts) and not exists (
    select from unnest(p_places, p_amounts) as i (place, amount) group by i.place having sum(i.amount) > min(p_left[i.place]));
  if v_fits then
    counted := array(select i.at::integer from unnest(p_ids) with ordinality as i (id, at) where i.id <> all (p_busy));
    return;
  end if;
  for v_one in
    select array_agg(i.at::integer) as needs from unnest(p_ids) with ordinality as i (id, at)
    where i.id <> all (p_busy) group by i.id order by i.id collate "C"
  loop
    v_short := array(
      select w from unnest(v_one.needs) w where not p_passes[w] and (p_amounts[w] = 'Infinity' or p_left[p_places[w]] < p_amounts[w]));
    if cardinality(v_short) > 0 then
      beyond := beyond || v_short;
      beyond_left := beyond_left || array(select p_left[p_places[w]] from unnest(v_short) w);
      continue;
    end if;
    counted := counted || v_one.needs;
    for v_at in 1 .. cardinality(v_one.needs) loop
      p_left[p_places[v_one.needs[v_at]]] := p_left[p_places[v_one.needs[v_at]]] - p_amounts[v_one.needs[v_at]];
    end loop;
  end loop;
end
$$;
