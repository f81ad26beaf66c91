-- Writes answers into the log of attempts, by the places of its lines, which are found one by one: a plan for all of them that is made
-- while the table is small reads the index from end to end, and does so for ever. What a request did, or may have done, is never dropped:
-- an acceptance that comes after its call was abandoned changes the line of its attempt, and where a fail-over or a restore has lost its
-- claim, or another one has that claim's number, it gets a line of its own, as an unknown outcome does. Answers with the settlements, where
-- such an outcome has the number of that line.
create or replace function {{schema}}.record_answers(p_settlements jsonb) returns jsonb language plpgsql as $$
declare
  v_places integer[];
  v_answer record;
  v_attempt integer;
begin
  with s as materialized (
    select s.*, s.position::integer - 1 as place from rows from (
      jsonb_to_recordset(p_settlements) as (id text, attempt integer, outcome text, detail text, http_status integer, request_id text,
        remote_id text, taken_id text)) with ordinality as s (id, attempt, outcome, detail, http_status, request_id, remote_id, taken_id, position)
  ), written as (
    update {{schema}}.attempt a
    set answered_at = clock_timestamp(), outcome = n.outcome, detail = n.detail, http_status = n.http_status, request_id = n.request_id,
        remote_id = coalesce(n.remote_id, n.taken_id)
    from (
      -- Two answers to one attempt: the first one counts.
      select distinct on (l.row) s.*, l.row from s cross join lateral (
        select a.ctid as row from {{schema}}.attempt a
        where a.transfer_id = s.id and a.attempt = s.attempt and a.answered_at is null offset 0) l
      order by l.row, s.place
    ) n
    where a.ctid = n.row and a.answered_at is null returning n.place
  )
  select array_agg(w.place) into v_places from written w;
  if cardinality(v_places) = jsonb_array_length(p_settlements) then
    return p_settlements;
  end if;

  for v_answer in
    select n.place, a.* from generate_series(0, jsonb_array_length(p_settlements) - 1) as n (place)
    cross join jsonb_to_record(p_settlements -> n.place)
      as a (id text, attempt integer, outcome text, remote_id text, taken_id text, unknown_since timestamptz)
    where n.place <> all (coalesce(v_places, '{}')) order by n.place
  loop
    if v_answer.outcome = 'accepted' and coalesce(v_answer.remote_id, v_answer.taken_id) is not null then
      perform {{schema}}.record_acceptance(p_settlements -> v_answer.place, coalesce(v_answer.remote_id, v_answer.taken_id));
    elsif v_answer.unknown_since is not null then
      v_attempt := {{schema}}.record_lost_unknown(p_settlements -> v_answer.place);
      if v_attempt is not null then
        p_settlements := jsonb_set(p_settlements, array[v_answer.place::text], (p_settlements -> v_answer.place)
          || jsonb_build_object('attempt', v_attempt,
            'lost_attempt', coalesce(p_settlements -> v_answer.place -> 'lost_attempt', to_jsonb(v_answer.attempt))));
      end if;
    end if;
  end loop;
  return p_settlements;
end
$$;
