-- Writes answers of calls, as write_screening_answers() has them, without waiting for who has locked a transfer. Returns in their order what became of each: as there, and `locked`, with nothing
-- written, for a transfer that somebody has locked, and for the second answer about one.
create or replace function {{schema}}.answer_screenings(p_answers jsonb, p_notify boolean) returns text[] language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  v_ids text[];
  v_answers jsonb;
  v_places bigint[];
  v_fates text[];
begin
  select array_agg(l.id) into v_ids from (
    select t.id from {{schema}}.transfer t where t.id = any (array(select e ->> 'id' from jsonb_array_elements(p_answers) e))
    order by t.id for no key update skip locked) l;
  select jsonb_agg(a.value order by a.place), array_agg(a.place order by a.place) into v_answers, v_places from (
    select distinct on (e.value ->> 'id') e.value, e.place from jsonb_array_elements(p_answers) with ordinality as e (value, place)
    where e.value ->> 'id' = any (v_ids) order by e.value ->> 'id', e.place) a;
  if v_answers is not null then
    v_fates := {{schema}}.write_screening_answers(v_answers, p_notify);
  end if;
  return array(
    select coalesce(v_fates[array_position(v_places, n.place)], 'locked') from generate_series(1, jsonb_array_length(p_answers)::bigint) as n (place)
    order by n.place);
end
$$;
