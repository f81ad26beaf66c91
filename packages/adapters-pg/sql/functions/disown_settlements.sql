-- Gives settlements the attempt 0 whose attempt is another claim's: a fail-over has lost their claims, and the numbers were given again.
-- None of them is the answer to the attempt of that number; an acceptance or an unknown outcome among them counts all the same.
create or replace function {{schema}}.disown_settlements(p_settlements jsonb) returns jsonb language plpgsql as $$
declare
  v_places bigint[];
begin
  select array_agg(s.place) into v_places
  from rows from (jsonb_to_recordset(p_settlements) as (id text, attempt integer, worker text)) with ordinality as s (id, attempt, worker, place)
  -- One by one: a plan that is kept from when the table was small would read all of it.
  cross join lateral (select a.worker from {{schema}}.attempt a where a.transfer_id = s.id and a.attempt = s.attempt offset 0) a
  where a.worker <> s.worker;
  if v_places is null then
    return p_settlements;
  end if;
  return (
    select jsonb_agg(case when e.place = any (v_places)
      then e.value || jsonb_build_object('attempt', 0, 'lost_attempt', e.value -> 'attempt') else e.value end order by e.place)
    from jsonb_array_elements(p_settlements) with ordinality as e (value, place));
end
$$;
