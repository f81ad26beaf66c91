-- Writes down that the service accepted a transfer, where the log does not say so yet: at its attempt, if that was abandoned and its
-- outcome unknown, or else, for a lost claim, in a line of its own. Then later attempts are fenced: the service has it.
create or replace function {{schema}}.record_acceptance(p_settlement jsonb, p_remote_id text) returns void language plpgsql as $$
declare
  v_answer record;
begin
  select * into v_answer from jsonb_to_record(p_settlement) as s (
    id text, attempt integer, detail text, http_status integer, request_id text);
  if exists (
    select 1 from {{schema}}.logged_attempts_of(v_answer.id) a where a.outcome = 'accepted' and a.remote_id = p_remote_id) then
    return;
  end if;
  update {{schema}}.attempt a
  set answered_at = clock_timestamp(), outcome = 'accepted', remote_id = p_remote_id,
      http_status = v_answer.http_status, request_id = v_answer.request_id,
      detail = concat_ws('; ', v_answer.detail, 'its outcome was unknown before: ' || a.detail)
  where a.transfer_id = v_answer.id and a.attempt = v_answer.attempt and a.outcome = 'unknown' and a.step is null;
  if found then
    return;
  end if;
  with numbered as (
    update {{schema}}.transfer t
    set attempt = t.attempt + 1, updated_at = clock_timestamp(),
        submission_key = case when t.attempt = 0
          then {{schema}}.submission_key('transfer', t.account_id, t.idempotency_key) else t.submission_key end
    where t.id = v_answer.id
    returning t.id, t.attempt
  )
  insert into {{schema}}.attempt (transfer_id, attempt, worker, answered_at, outcome, detail, http_status, request_id, remote_id)
  select n.id, n.attempt, 'the answer to a lost claim', clock_timestamp(), 'accepted', v_answer.detail, v_answer.http_status,
    v_answer.request_id, p_remote_id
  from numbered n;
end
$$;
