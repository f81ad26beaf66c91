-- Writes down that the outcome of a lost claim is unknown, in a line of its own, and since when; once, and only where the service does not
-- have the transfer for certain. Later attempts are fenced: their workers did not know of it, and may have a refusal for a proof.
-- Answers with the number of that line; null when there is nothing to write.
create or replace function {{schema}}.record_lost_unknown(p_settlement jsonb) returns integer language plpgsql as $$
declare
  v_answer record;
  v_attempt integer;
begin
  select * into v_answer from jsonb_to_record(p_settlement) as s (
    id text, attempt integer, worker text, outcome text, detail text, http_status integer, request_id text,
    unknown_since timestamptz, claimed_at timestamptz);
  -- Written again, such as when the connection was lost with the commit, or not by a claim.
  if v_answer.worker is null or exists (
    select 1 from {{schema}}.attempt a where a.transfer_id = v_answer.id and a.worker = v_answer.worker) then
    return null;
  end if;
  update {{schema}}.transfer t
  set attempt = t.attempt + 1, updated_at = clock_timestamp(),
      unknown_since = least(t.unknown_since, v_answer.unknown_since, clock_timestamp()),
      submission_key = case when t.attempt = 0
        then {{schema}}.submission_key('transfer', t.account_id, t.idempotency_key) else t.submission_key end
  where t.id = v_answer.id and t.status = 'pending' and t.remote_id is null
    and t.stage in ('held', 'queued', 'submitting', 'awaiting_funds', 'blocked')
  returning t.attempt into v_attempt;
  insert into {{schema}}.attempt (
    transfer_id, attempt, worker, claimed_at, answered_at, outcome, detail, http_status, request_id)
  select v_answer.id, v_attempt, v_answer.worker, coalesce(v_answer.claimed_at, v_answer.unknown_since), clock_timestamp(),
    v_answer.outcome, concat_ws('; ', v_answer.detail, 'the answer to a lost claim'), v_answer.http_status, v_answer.request_id
  where v_attempt is not null;
  return v_attempt;
end
$$;
