-- Gives settlements the attempt 0 whose attempt is another claim's: a fail-over has lost their claims, and the numbers were given again.
-- None of them is the answer to the attempt of that number; an acceptance or an unknown outcome among them counts all the same.
create or replace function {{schema}}.disown_settlements(p_settlements jsonb) returns jsonb language sql as $$
  select coalesce(jsonb_agg(case when exists (
      select 1 from {{schema}}.attempt a
      where a.transfer_id = e ->> 'id' and a.attempt = (e ->> 'attempt')::integer and a.worker <> e ->> 'worker')
    then e || jsonb_build_object('attempt', 0, 'lost_attempt', e -> 'attempt') else e end), '[]')
  from jsonb_array_elements(p_settlements) as e
$$;
