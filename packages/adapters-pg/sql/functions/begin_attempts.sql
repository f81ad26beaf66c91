-- Begins an attempt of each of these transfers, which the caller has locked, and writes it down. An attempt that was claimed
-- before and never settled has an unknown outcome from its claim on, unless it was to register a counterparty: a transfer whose
-- destination has no id was never sent. The first attempt writes the key that is sent. The answer has that key as
-- `idempotency_key`, also for code that knows of no other. The client is that of the account's last request, or `p_client` where
-- all requests have one client. While the outcome of a request is unknown, its client stays.
create or replace function {{schema}}.begin_attempts(p_ids text[], p_worker text, p_client text)
returns table (
  id text, account_id text, idempotency_key text, request jsonb, attempt integer, reason text, unknown_since text, expires_at text,
  claimed_at text, unknown_attempt integer, released boolean, client text, environment text
) language plpgsql as $$
#variable_conflict use_column
declare
  v_at timestamptz := clock_timestamp();
begin
  return query
  with claimed as (
    update {{schema}}.transfer t
    set attempt = t.attempt + 1, stage = 'submitting', updated_at = v_at,
      -- Most transfers were never sent: the functions are for the others.
      unknown_since = case when t.attempt > 0 or t.unknown_since is not null or t.stage = 'submitting'
        then {{schema}}.unknown_since_of(t) end,
      submission_key = case when t.attempt = 0
        then {{schema}}.submission_key('transfer', t.account_id, t.idempotency_key) else t.submission_key end,
      client = case
        when case when t.attempt > 0 or t.unknown_since is not null or t.stage = 'submitting'
          then {{schema}}.unknown_since_of(t) end is not null then t.client
        else coalesce(p_client, (select c.client from {{schema}}.account_client c where c.account_id = {{schema}}.gateway_account(t.gateway, t.account_id)), t.client) end
    where t.id = any (p_ids)
    returning t.id, t.account_id, coalesce(t.submission_key, t.idempotency_key) as sent_key, t.request, t.attempt, t.reason,
      t.unknown_since, t.expires_at, t.released_at, t.client, t.environment, t.gateway
  ), logged as (
    insert into {{schema}}.attempt (transfer_id, attempt, worker, step, claimed_at, gateway)
    select k.id, k.attempt, p_worker, case when k.request #> '{destination,addressId}' is null then 'registration' end, v_at, k.gateway from claimed k
  )
  select k.id, k.account_id, k.sent_key, k.request, k.attempt, k.reason, {{schema}}.iso(k.unknown_since),
    {{schema}}.iso(k.expires_at), {{schema}}.iso(v_at),
    case when k.unknown_since is not null then (
      select min(a.attempt) from {{schema}}.attempt a where a.transfer_id = k.id and a.claimed_at >= k.unknown_since) end,
    k.released_at is not null, k.client, k.environment
  from claimed k;
end
$$;
