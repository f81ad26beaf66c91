-- Reads live and archived attempts alike.
create or replace function {{schema}}.attempts_of(p_transfer_id text)
returns table (
  attempt integer, claimed_at timestamptz, answered_at timestamptz, took interval, outcome text, http_status integer,
  request_id text, detail text, worker text, submission_key text
) language sql stable as $$
  select a.attempt, a.claimed_at, a.answered_at, a.answered_at - a.claimed_at,
    concat_ws(' ', a.step, coalesce(a.outcome, 'unanswered')), a.http_status, a.request_id, a.detail, a.worker,
    case when a.step is null then coalesce(t.submission_key, t.idempotency_key) end
  from {{schema}}.logged_attempts_of(p_transfer_id) a join {{schema}}.transfer t on t.id = a.transfer_id order by a.attempt
$$;
comment on function {{schema}}.attempts_of(text) is
  'The attempts of one transfer, each with its answer and the key that it was sent under. An outcome that begins with "registration" is about the counterparty, and moved no money.';
