-- Writes answers into the log of attempts, one by one: a plan for all of them that is made while the table is small reads the index of
-- unanswered attempts from end to end, and does so for ever. What a request did, or may have done, is never dropped: an acceptance that
-- comes after its call was abandoned changes the line of its attempt, and where a fail-over or a restore has lost its claim, or another
-- one has that claim's number, it gets a line of its own, as an unknown outcome does. Answers with the settlements, where such an outcome
-- has the number of that line.
create or replace function {{schema}}.record_answers(p_settlements jsonb) returns jsonb language plpgsql as $$
declare
  v_answer record;
  v_attempt integer;
begin
  for v_answer in
    select s.*, coalesce(s.remote_id, s.taken_id) as accepted_id, s.position::integer - 1 as place from rows from (
      jsonb_to_recordset(p_settlements) as (id text, attempt integer, outcome text, detail text, http_status integer, request_id text,
        remote_id text, taken_id text, unknown_since timestamptz)) with ordinality
      as s (id, attempt, outcome, detail, http_status, request_id, remote_id, taken_id, unknown_since, position)
  loop
    update {{schema}}.attempt a
    set answered_at = clock_timestamp(), outcome = v_answer.outcome, detail = v_answer.detail,
        http_status = v_answer.http_status, request_id = v_answer.request_id, remote_id = v_answer.accepted_id
    where a.transfer_id = v_answer.id and a.attempt = v_answer.attempt and a.answered_at is null;
    continue when found;
    if v_answer.outcome = 'accepted' and v_answer.accepted_id is not null then
      perform {{schema}}.record_acceptance(p_settlements -> v_answer.place, v_answer.accepted_id);
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
