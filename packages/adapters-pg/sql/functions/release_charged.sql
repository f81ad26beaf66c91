-- Releases held transfers that fit into all limits on sums, and counts them, so that no other one is released or claimed instead of them: the claim finds them
-- counted. Those that are beyond another limit by now are held by that one. The caller has locked them. Returns those that were released,
-- and the sums that others have locked: what needs these stays held.
create or replace function {{schema}}.release_charged(p_ids text[], out released text[], out busy_counters text[], out busy_scopes text[]) language plpgsql as $$
declare
  n record;
  f record;
  v_short integer[];
  v_busy text[] := '{}';
  v_beyond text[] := '{}';
  v_id text;
begin
  released := '{}';
  busy_counters := '{}';
  busy_scopes := '{}';
  select * into n from {{schema}}.limit_needs(p_ids, '{}', clock_timestamp());
  if n.ids is not null then
    v_short := {{schema}}.lock_uses(n.counters, n.scopes, n.began_at, n.until);
    busy_counters := array(select n.counters[s] from unnest(v_short) with ordinality as o (s, at) order by o.at);
    busy_scopes := array(select n.scopes[s] from unnest(v_short) with ordinality as o (s, at) order by o.at);
    v_busy := array(select distinct i.id from unnest(n.ids, n.places) as i (id, place) where i.place = any (v_short));
    f := {{schema}}.fit_needs(n.ids, n.places, n.amounts, n.passes, {{schema}}.limits_left(n.counters, n.scopes, n.began_at), v_busy);
    v_beyond := array(select distinct n.ids[o] from unnest(f.beyond) o);
    begin
      delete from {{schema}}.hold h where h.transfer_id = any (v_beyond) and h.counter is not null;
      perform {{schema}}.write_excess(array_agg(n.ids[o.need]), array_agg(n.counters[n.places[o.need]]), array_agg(n.scopes[n.places[o.need]]),
        array_agg(n.began_at[n.places[o.need]]), array_agg(n.until[n.places[o.need]]), array_agg(o.left_of_it))
      from unnest(f.beyond, f.beyond_left) as o (need, left_of_it) having count(*) > 0;
    exception when lock_not_available then
      -- Somebody changes what holds one of them: they stay as they are held.
      null;
    end;
  end if;
  foreach v_id in array p_ids loop
    continue when v_id = any (v_busy || v_beyond);
    begin
      delete from {{schema}}.hold h where h.transfer_id = v_id and h.counter is not null;
      if found and {{schema}}.release_holds(v_id, {{schema}}.job_id(v_id), '[]', false) then
        released := released || v_id;
      end if;
    exception when lock_not_available then
      -- Somebody stands still with something of it: the others go.
      null;
    end;
  end loop;
  if n.ids is not null then
    perform {{schema}}.write_charges(array_agg(n.ids[c]), array_agg(n.counters[n.places[c]]), array_agg(n.scopes[n.places[c]]),
      array_agg(n.began_at[n.places[c]]), array_agg(n.until[n.places[c]]), array_agg(n.amounts[c]))
    from unnest(f.counted) c where n.ids[c] = any (released) having count(*) > 0;
  end if;
end
$$;
