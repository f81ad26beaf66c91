-- Writes down that the service accepted a transfer, where the log does not say so yet. Later attempts are fenced: the service has it.
create or replace function {{schema}}.record_acceptance(p_id text, p_remote_id text, p_detail text) returns void language sql as $$
  with numbered as (
    update {{schema}}.transfer t
    set attempt = t.attempt + 1, updated_at = clock_timestamp(),
        submission_key = case when t.attempt = 0
          then {{schema}}.submission_key('transfer', t.account_id, t.idempotency_key) else t.submission_key end
    where t.id = p_id and not exists (
      select 1 from {{schema}}.logged_attempts_of(p_id) a where a.outcome = 'accepted' and a.remote_id = p_remote_id)
    returning t.id, t.attempt
  )
  insert into {{schema}}.attempt (transfer_id, attempt, worker, answered_at, outcome, detail, remote_id)
  select n.id, n.attempt, 'the answer to a lost claim', clock_timestamp(), 'accepted', p_detail, p_remote_id from numbered n
$$;
