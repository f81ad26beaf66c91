-- Writes answers into the log of attempts, one by one: a plan for all of them that is made while the table is small reads the index of
-- unanswered attempts from end to end, and does so for ever. An acceptance is never dropped: where a fail-over or a restore has lost its
-- claim, or another one has that claim's number, it gets a line of its own.
create or replace function {{schema}}.record_answers(p_settlements jsonb) returns void language plpgsql as $$
declare
  v_answer record;
begin
  for v_answer in
    select s.*, coalesce(s.remote_id, s.taken_id) as accepted_id from jsonb_to_recordset(p_settlements) as s (
      id text, attempt integer, outcome text, detail text, http_status integer, request_id text, remote_id text, taken_id text)
  loop
    update {{schema}}.attempt a
    set answered_at = clock_timestamp(), outcome = v_answer.outcome, detail = v_answer.detail,
        http_status = v_answer.http_status, request_id = v_answer.request_id, remote_id = v_answer.accepted_id
    where a.transfer_id = v_answer.id and a.attempt = v_answer.attempt and a.answered_at is null;
    if not found and v_answer.outcome = 'accepted' and v_answer.accepted_id is not null then
      perform {{schema}}.record_acceptance(v_answer.id, v_answer.accepted_id, v_answer.detail);
    end if;
  end loop;
end
$$;
