-- Writes answers into the log of attempts, one by one: a plan for all of them that is made while the table is small reads the index of
-- unanswered attempts from end to end, and does so for ever.
create or replace function {{schema}}.record_answers(p_settlements jsonb) returns void language plpgsql as $$
declare
  v_answer record;
begin
  for v_answer in
    select * from jsonb_to_recordset(p_settlements) as s (
      id text, attempt integer, outcome text, detail text, http_status integer, request_id text, remote_id text)
  loop
    update {{schema}}.attempt a
    set answered_at = clock_timestamp(), outcome = v_answer.outcome, detail = v_answer.detail,
        http_status = v_answer.http_status, request_id = v_answer.request_id, remote_id = v_answer.remote_id
    where a.transfer_id = v_answer.id and a.attempt = v_answer.attempt and a.answered_at is null;
  end loop;
end
$$;
