-- Releases transfers that limits on sums hold and that fit now, of the next sums behind one: their span is over, others were given back, or the limit
-- is another one. It counts them, as a claim does. Returns these sums, and how many of each were released, at most so many together.
--
-- It locks transfers and skips those that others have locked, and then what is used. Where some of it is busy, it tries once more without what needs that. Nothing
-- is released while nothing may be sent. The plans are held to indexes: very many may be held.
create or replace function {{schema}}.release_fitting(p_counter text, p_scope text, p_sums integer, p_limit integer)
returns table (counter text, scope text, released integer) language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_counters text[];
  v_scopes text[];
  v_found text[];
  -- Each transfer once, with the place of the sum that found it.
  v_ids text[] := '{}';
  v_places integer[] := '{}';
  -- What an earlier round has tried.
  v_tried text[] := '{}';
  v_room integer;
  v_free text[];
  v_alone text[];
  v_one record;
  v_busy_counters text[] := '{}';
  v_busy_scopes text[] := '{}';
  v_released text[] := '{}';
begin
  if exists (select from {{schema}}.stop s where s.scope = 'all') or exists (select from {{schema}}.known_database d where d.fenced_since is not null) then
    return;
  end if;
  select coalesce(array_agg(s.counter), '{}'), coalesce(array_agg(s.scope), '{}') into v_counters, v_scopes
  from {{schema}}.held_sums(p_counter, p_scope, p_sums) s;
  for v_round in 1 .. 2 loop
    v_room := p_limit - cardinality(v_released);
    for v_place in 1 .. cardinality(v_counters) loop
      v_found := array(
        select i.id from unnest({{schema}}.fitting_holds(v_counters[v_place], v_scopes[v_place], {{schema}}.limit_left(v_counters[v_place], v_scopes[v_place]),
          v_room, v_tried, v_busy_counters, v_busy_scopes)) as i (id) where i.id <> all (v_ids));
      v_ids := v_ids || v_found;
      v_places := v_places || array_fill(v_place, array[cardinality(v_found)]);
      v_room := v_room - cardinality(v_found);
      if v_room <= 0 then
        -- The next call begins behind this sum. The second round is of the sums of the first one.
        if v_round = 1 then
          v_counters := v_counters[:v_place];
          v_scopes := v_scopes[:v_place];
        end if;
        exit;
      end if;
    end loop;
    -- Whoever had them locked before may have ended these holds, or added another one, with which nothing is sent yet.
    v_free := array(
      select i.id from unnest(v_ids) as i (id)
      where i.id <> all (v_tried) and {{schema}}.may_release(i.id)
        and exists (select from {{schema}}.hold h where h.transfer_id = i.id and h.counter is not null) order by i.id collate "C");
    v_alone := array(
      select i.id from unnest(v_free) as i (id)
      where not exists (select from {{schema}}.hold h where h.transfer_id = i.id and h.counter is null));
    v_one := {{schema}}.release_charged(v_alone);
    v_released := v_released || v_one.released;
    perform {{schema}}.end_sums(array(select i.id from unnest(v_free) as i (id) where i.id <> all (v_alone)));
    exit when cardinality(v_one.released) = cardinality(v_alone) or cardinality(v_released) >= p_limit;
    select v_ids, v_one.busy_counters, v_one.busy_scopes into v_tried, v_busy_counters, v_busy_scopes;
  end loop;
  return query
  select k.counter, k.scope, (
    select count(*)::integer from unnest(v_ids, v_places) as i (id, place) where i.place = k.place and i.id = any (v_released))
  from unnest(v_counters, v_scopes) with ordinality as k (counter, scope, place) order by k.place;
end
$$;
