create or replace view {{schema}}.stuck_transfers as
with waiting as (
  -- Of one that is deferred, whether its last attempt left this side at all: the detail says so when it did not.
  select t.*, coalesce(j.is_waiting or j.is_active, false) as has_job, j.is_waiting, j.due_at, starts_with(a.detail, 'not sent') as unsent,
    ': ' || regexp_replace(a.detail, '^not sent: ', '') as said,
    t.gateway <> 'default' and not exists (select 1 from {{schema}}.attended_gateway g
      where g.name = t.gateway and g.attended_at > now() - interval '2 minutes') as is_unattended
  from {{schema}}.transfer t
  left join {{schema}}.queue_jobs() j on j.job = {{schema}}.job_id(t.id)
  left join {{schema}}.attempt a on (t.reason = 'rate_limited' or t.reason = any ({{schema}}.obstacles())) and a.transfer_id = t.id and a.attempt = t.attempt
  where t.remote_id is null and t.status = 'pending' and t.stage in ('queued', 'submitting', 'awaiting_funds')
    and (t.reason is not null or t.unknown_since is not null or t.updated_at < now() - interval '1 minute')
), judged as (
  select w.id, w.account_id, w.gateway, w.stage, w.reason, w.attempt, w.due_at,
    coalesce(w.unknown_since, case when w.reason = any ({{schema}}.obstacles()) then {{schema}}.obstructed_since(w.id) end, w.updated_at) as since,
    case
      when w.stage = 'submitting' then 'the answer to an attempt that its worker holds, or lost when it died'
      when not w.has_job then 'a job: it has none, and a running engine gives it one'
      when w.stage = 'awaiting_funds' then 'funds: the service refused it for lack of balance'
      when w.reason = 'account_paused' then 'its account, which is paused or stopped'
      when w.reason = 'batch_paused' then 'its batch, which is paused'
      when w.reason = 'gateway_held' then 'its gateway ' || w.gateway || ', which is stopped'
      when w.reason = 'account_limited' then 'a permit under the limits of its account or the rate that the engine lowered'
      when w.reason = 'outcome_unknown' then 'certainty: a request left and no answer came; the same key goes out again'
      when w.reason = 'client_changed' then 'the client that sent it: the outcome is unknown, and the account sends as another client now'
      when w.reason = 'unauthenticated' then 'credentials: the service refuses those of the account'
      when w.reason = 'unauthorized' then 'permission: the service refuses it alone, and accepts others of its account'
      when w.reason = 'registration_unknown' then 'its counterparty: the service has not said whether it registered it, and is asked again with the same key'
      when w.reason = 'unreachable' then 'the gateway, which cannot be reached' || coalesce(w.said, '')
      when w.reason = 'misconfigured' then 'a gateway that is configured correctly' || coalesce(w.said, '')
      when w.reason = 'credentials_unavailable' then 'the credentials of its account, which could not be read' || coalesce(w.said, '')
      when w.reason = 'rate_limited' and w.unsent then 'the gateway, which sent nothing' || w.said
      when w.reason = 'rate_limited' then 'the service, which asked for a pause'
      when w.due_at > now() then 'its next attempt'
      when w.is_unattended then 'its gateway ' || w.gateway || ', which no worker has'
      else 'a worker: it is due and no worker has claimed it'
    end as waits_for,
    case
      when w.stage = 'submitting' then 'Nothing, while workers run: the job comes back when its heartbeat stops.'
      when not w.has_job then 'Start a worker; its sweep repairs this. Or release it.'
      when w.stage = 'awaiting_funds' then 'Fund the source and run "outlay accounts funds-arrived" or call accounts.fundsArrived, or release it, or cancel it.'
      when w.reason = 'account_paused' then 'Resume the account, or end its stop ("outlay start-sending --account").'
      when w.reason = 'batch_paused' then 'Resume the batch ("outlay batches resume ' || w.batch_id || '").'
      when w.reason = 'gateway_held'
        then 'End the stop of the gateway ("outlay start-sending --gateway").'
      when w.reason = 'account_limited' then 'Nothing; or raise the limits of the account ("outlay accounts limit", accounts.configure).'
      when w.reason = 'outcome_unknown' then 'Check that the service answers; nothing else is needed for 24 hours.'
      when w.reason = 'client_changed' then 'Give the gateway the credentials of the client that sent it, until its outcome is known; or ask the service.'
      when w.reason = 'unauthenticated' then 'Give the gateway credentials that work and run "outlay accounts retry-credentials" or call accounts.retryCredentials; without either, a later probe finds out.'
      when w.reason = 'unauthorized' then 'Get the permission for it, or cancel it; after some more refusals it is blocked.'
      when w.reason = 'registration_unknown' then 'Check that the service answers; no money can have moved, and it may be canceled.'
      when w.reason = 'unreachable'
        then 'See whether the service runs, and whether a worker reaches its address (baseUrl): name, port and network. The same key goes out again without a command.'
      when w.reason = 'misconfigured'
        then 'Correct the address, the path or the certificate (baseUrl, tokenUrl, trusted authorities) and restart the workers. The same key goes out again without a command.'
      when w.reason = 'credentials_unavailable'
        then 'See whether the vault answers and has the credentials of the account. The same key goes out again without a command.'
      when w.reason = 'rate_limited' and w.unsent
        then 'Fix what "outlay prove" shows of its last attempt; the same key goes out again without a command.'
      when w.reason = 'rate_limited' then 'Nothing: the same key goes out again after the pause.'
      when w.due_at > now() then 'Nothing.'
      when w.is_unattended then 'Start workers of an engine that has this gateway; nothing sends it elsewhere.'
      else 'Start workers, or more of them.'
    end as remedy
  from waiting w
  where w.reason is not null or w.unknown_since is not null or w.stage <> 'queued' or w.is_waiting is not true
    or w.due_at < now() - interval '1 minute'
)
select j.id, j.account_id, j.stage, j.reason, j.waits_for, j.remedy, j.since, now() - j.since as waiting, j.attempt as attempts,
  case when j.stage <> 'submitting' and (j.reason is null or j.due_at < now() + interval '1 year') then j.due_at end
    as next_attempt_at, j.gateway
from judged j
union all
select t.id, t.account_id, t.stage, t.reason,
  case t.reason
    when 'outcome_unknown' then 'a person: its outcome stayed unknown for 24 hours, and money may have moved'
    when 'key_expired' then 'a person: its outcome is unknown for longer than the service keeps its key, and money may have moved'
    when 'registration_unknown' then 'a person: for 24 hours the service has not said whether it registered its counterparty'
    when 'idempotency_key_mismatch' then 'a person: the service has its key for another request'
    when 'unauthorized' then 'a person: the service refuses it alone, and accepts others of its account'
    when 'environment_mismatch' then 'a person: it was enqueued for another environment than the workers have'
    when 'reconcile' then 'a person: after a restore it is not certain which transfer of the service it is'
    when 'remote_id_taken' then 'a person: its id at the service is that of another transfer here, and only one of the two can be right'
    when 'repaired_request' then 'a person: a driver had its request stored as a text, which no worker could read until it was repaired'
    else 'a person'
  end,
  case t.reason
    when 'outcome_unknown' then 'Ask the service about its key. Release it to send the same key once more, while the service is sure to have it; or say what it answered with "outlay transfers resolve".'
    when 'key_expired' then 'Ask the service what became of it, then run "outlay transfers resolve". Nothing sends it again; resubmit it if nothing was paid.'
    when 'unauthorized' then 'Get the permission for it and release it, or cancel it.'
    when 'registration_unknown' then 'No money can have moved: release it to register with the same key again, or cancel it.'
    when 'idempotency_key_mismatch' then 'Find what the key was used for, and say with "outlay transfers resolve" whether this was paid; resubmit it if it was not.'
    when 'environment_mismatch' then 'Cancel it, and fix the configuration of the process that enqueued it.'
    when 'reconcile' then 'See "outlay prove" for the candidates; say which with "outlay transfers resolve", or that it was not paid.'
    when 'remote_id_taken' then 'See "outlay prove" for the other one, and ask the service which is meant. If it is this one, "outlay transfers resolve" with --remote-id and --instead-of.'
    when 'repaired_request' then 'See how old it is, and whether it was paid otherwise. Release it if it is still wanted, or cancel it.'
    else 'Release it, or cancel it.'
  end,
  coalesce(t.unknown_since, t.updated_at), now() - coalesce(t.unknown_since, t.updated_at), t.attempt, null, t.gateway
from {{schema}}.transfer t where t.remote_id is null and t.status = 'pending' and t.stage = 'blocked'
union all
select t.id, t.account_id, t.stage, t.reason, 'a poll of its status, which is overdue', 'Start workers, or see why the service does not answer.',
  t.next_poll_at, now() - t.next_poll_at, t.attempt, null, t.gateway
from {{schema}}.transfer t where t.stage = 'submitted' and t.next_poll_at < now() - interval '1 minute'
  and (t.reason is null or t.reason <> all ({{schema}}.obstacles()))
union all
select t.id, t.account_id, t.stage, t.reason,
  'a poll of its status: ' || case t.reason
    when 'unreachable' then 'the gateway cannot be reached'
    when 'misconfigured' then 'the gateway is not configured correctly, and the log of a worker says how'
    when 'poll_failed' then 'its gateway got an error in place of the status'
    else 'the credentials of its account could not be read'
  end,
  case t.reason
    when 'unreachable' then 'See whether the service runs, and whether a worker reaches its address (baseUrl): name, port and network. The status is read again without a command.'
    when 'misconfigured'
      then 'Correct the address, the path or the certificate (baseUrl, tokenUrl, trusted authorities) and restart the workers. The status is read again without a command.'
    when 'poll_failed'
      then 'See whether the service answers: it may fail (HTTP 5xx), refuse the credentials (401, 403) or say what the gateway does not understand; the log of a worker has the error at the level debug. The status is read again without a command.'
    else 'See whether the vault answers and has the credentials of the account. The status is read again without a command.'
  end,
  t.updated_at, now() - t.updated_at, t.attempt, null, t.gateway
from {{schema}}.transfer t where t.next_poll_at is not null and t.stage = 'submitted' and t.reason = any ({{schema}}.obstacles())
union all
select t.id, t.account_id, t.stage, t.reason, 'a person: the service does not know it any more',
  'Find out what was paid. Restore what the service has lost, and nothing else is needed; or release it to send the same key again.',
  t.unknown_since, now() - t.unknown_since, t.attempt, null, t.gateway
from {{schema}}.transfer t where t.next_poll_at is not null and t.stage = 'submitted' and t.reason = 'missing_at_service'
union all
select t.id, t.account_id, t.stage, 'return_' || r.problem,
  'a person: the service says that money came back (' || concat_ws(' ', r.code, r.amount, r.currency) || '), '
    || case r.problem
      when 'not_complete' then 'and the transfer never was complete'
      when 'amount_unknown' then 'and not how much'
      when 'other_currency' then 'in another currency than that of the transfer'
      when 'decided_before' then 'and shows an earlier return no more that a person has decided about: this may be its correction'
      else 'and with what came back before that is more than was paid'
    end,
  'Find out what came back; no handler has got it. Say it with "outlay transfers resolve-return". Once the service shows it otherwise, the next report of the transfer replaces this one.',
  r.seen_at, now() - r.seen_at, t.attempt, null, t.gateway
from {{schema}}.transfer_return r
-- One by one: a join may read all transfers.
cross join lateral (select t.* from {{schema}}.transfer t where t.id = r.transfer_id offset 0) t where r.problem is not null and r.resolved_at is null;
comment on view {{schema}}.stuck_transfers is
  'Transfers that wait for something other than their turn: what each one waits for, since when, and what to do about it.';
comment on column {{schema}}.stuck_transfers.waits_for is 'What it waits for, in words.';
comment on column {{schema}}.stuck_transfers.remedy is 'What a person can do about it.';
comment on column {{schema}}.stuck_transfers.since is 'Since when: of an unknown outcome, when it became unknown.';
