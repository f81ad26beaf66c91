-- What operators read: views over the engine's tables and the queue, for people, dashboards and alarms.
-- Replaced as a whole when one changes. Columns are only ever added at the end. The live ones read partial indexes and
-- never the history.

create or replace view {{schema}}.transfers as
select t.id, t.account_id, t.idempotency_key, t.stage, t.status, t.reason,
  t.request -> 'amount' ->> 'value' as amount,
  t.request -> 'amount' ->> 'currency' as currency,
  concat_ws(' ', t.request -> 'source' ->> 'valueType', t.request -> 'source' ->> 'transferType') as source,
  concat_ws(' ', t.request -> 'destination' ->> 'valueType', t.request -> 'destination' ->> 'transferType') as destination,
  t.failure ->> 'code' as failure_code, t.failure ->> 'detail' as failure_detail,
  t.remote_id, t.attempt as attempts, now() - t.created_at as age, t.unknown_since,
  -- What waits for a person has a job that is put off for years.
  case when t.stage in ('queued', 'awaiting_funds') and (t.reason is null or j.start_after < now() + interval '1 year')
    then j.start_after end as next_attempt_at,
  t.follow_at as next_look_at,
  j.state as job_state, t.not_before, t.expires_at, t.created_at, t.updated_at, t.submission_key, t.client
from {{schema}}.transfer t
left join lateral {{schema}}.job_of(t.id) j on t.stage in ('queued', 'submitting', 'awaiting_funds');
comment on view {{schema}}.transfers is
  'Every transfer, one row each. Indexed are id, (account_id, idempotency_key), remote_id, "remote_id is null and status = ''pending''" for what was not submitted, and next_look_at.';
comment on column {{schema}}.transfers.stage is
  'Where it stands in the engine: queued, submitting, awaiting_funds, submitted, blocked, settled.';
comment on column {{schema}}.transfers.status is 'What the service says about the money: pending, processing, failed, canceled, complete.';
comment on column {{schema}}.transfers.reason is 'Why it waits or is blocked; null when it does neither.';
comment on column {{schema}}.transfers.unknown_since is
  'Since when a request may have had an effect that nobody has confirmed; null when every attempt was answered.';
comment on column {{schema}}.transfers.next_attempt_at is 'When it may be sent next; null when it is not about to be.';
comment on column {{schema}}.transfers.next_look_at is 'When its status at the service is looked at next; null when it is not followed.';
comment on column {{schema}}.transfers.job_state is 'State of its job in the queue: created, retry, active; null when it has no job.';

comment on column {{schema}}.transfers.submission_key is
  'What is sent as the idempotency key; null before the first attempt, and where earlier code sent the host''s key itself.';
comment on column {{schema}}.transfers.client is 'As whom its last request left, where the gateway tells clients apart.';

create or replace view {{schema}}.stuck_transfers as
with waiting as (
  select t.*, j.state as job_state, j.start_after from {{schema}}.transfer t
  left join lateral {{schema}}.job_of(t.id) j on true
  where t.remote_id is null and t.status = 'pending' and t.stage in ('queued', 'submitting', 'awaiting_funds')
    and (t.reason is not null or t.unknown_since is not null or t.updated_at < now() - interval '1 minute')
), judged as (
  select w.id, w.account_id, w.stage, w.reason, w.attempt, coalesce(w.unknown_since, w.updated_at) as since, w.start_after,
    case
      when w.stage = 'submitting' then 'the answer to an attempt that its worker holds, or lost when it died'
      when w.job_state is null or w.job_state not in ('created', 'retry', 'active') then 'a job: it has none, and a running engine gives it one'
      when w.stage = 'awaiting_funds' then 'funds: the service refused it for lack of balance'
      when w.reason = 'account_paused' then 'its account, which is paused or stopped'
      when w.reason = 'account_limited' then 'its turn within the limits of its account, or the pace that the service left it'
      when w.reason = 'outcome_unknown' then 'certainty: a request left and no answer came; the same key goes out again'
      when w.reason = 'client_changed' then 'the client that sent it: what became of that is unknown, and the account sends as another one now'
      when w.reason = 'unauthenticated' then 'credentials: the service refuses those of the account'
      when w.reason = 'unauthorized' then 'permission: the service refuses it alone, and takes others of its account'
      when w.reason = 'rate_limited' then 'the service, which asked for a pause'
      when w.start_after > now() then 'its next attempt'
      else 'a worker: it is due and nobody has taken it'
    end as waits_for,
    case
      when w.stage = 'submitting' then 'Nothing, while workers run: the job comes back when its heartbeat stops.'
      when w.job_state is null or w.job_state not in ('created', 'retry', 'active') then 'Start a worker; its sweep repairs this. Or release it.'
      when w.stage = 'awaiting_funds' then 'Fund the source and tell the engine (accounts.fundsArrived), or release it, or cancel it.'
      when w.reason = 'account_paused' then 'Resume the account, or end its stop ("outlay start-sending --account").'
      when w.reason = 'account_limited' then 'Nothing; or raise the limits of the account (accounts.configure).'
      when w.reason = 'outcome_unknown' then 'Look whether the service answers; nothing else is needed for 24 hours.'
      when w.reason = 'client_changed' then 'Give the gateway the credentials of the client that sent it, until its outcome is known; or ask the service.'
      when w.reason = 'unauthenticated' then 'Give the gateway credentials that work and say so (accounts.credentialsMended); probes find out by themselves, but later.'
      when w.reason = 'unauthorized' then 'Get the permission for it, or cancel it; after some more refusals it is blocked.'
      when w.reason = 'rate_limited' then 'Nothing: the same key goes out again after the pause.'
      when w.start_after > now() then 'Nothing.'
      else 'Start workers, or more of them.'
    end as remedy
  from waiting w
  where w.reason is not null or w.unknown_since is not null or w.stage <> 'queued' or w.job_state is null
    or w.job_state not in ('created', 'retry') or w.start_after < now() - interval '1 minute'
)
select j.id, j.account_id, j.stage, j.reason, j.waits_for, j.remedy, j.since, now() - j.since as waiting, j.attempt as attempts,
  case when j.stage <> 'submitting' and (j.reason is null or j.start_after < now() + interval '1 year') then j.start_after end
    as next_attempt_at
from judged j
union all
select t.id, t.account_id, t.stage, t.reason,
  case t.reason
    when 'outcome_unknown' then 'a person: its outcome stayed unknown for 24 hours, and money may have moved'
    when 'key_expired' then 'a person: its outcome is unknown for longer than the service keeps its key, and money may have moved'
    when 'idempotency_key_mismatch' then 'a person: the service has its key for another request'
    when 'unauthorized' then 'a person: the service refuses it alone, and takes others of its account'
    when 'environment_mismatch' then 'a person: it was enqueued for another environment than the workers have'
    when 'reconcile' then 'a person: after a restore it cannot be told which transfer of the service it is'
    when 'remote_id_taken' then 'a person: its id at the service is that of another transfer here, and only one of the two can be right'
    else 'a person'
  end,
  case t.reason
    when 'outcome_unknown' then 'Ask the service about its key. Release it to send the same key once more, while the service is sure to have it; or say what it answered with "outlay transfers resolve".'
    when 'key_expired' then 'Ask the service what became of it, and say so with "outlay transfers resolve". Nothing sends it again; resubmit it if nothing was paid.'
    when 'unauthorized' then 'Get the permission for it and release it, or cancel it.'
    when 'idempotency_key_mismatch' then 'Find what the key was used for, and say with "outlay transfers resolve" whether this was paid; resubmit it if it was not.'
    when 'environment_mismatch' then 'Cancel it, and mend the configuration of the process that enqueued it.'
    when 'reconcile' then 'See "outlay prove" for the candidates; say which with "outlay transfers resolve", or cancel it.'
    when 'remote_id_taken' then 'See "outlay prove" for the other one, and ask the service which is meant. If it is this one, "outlay transfers resolve" with --remote-id and --instead-of.'
    else 'Release it, or cancel it.'
  end,
  coalesce(t.unknown_since, t.updated_at), now() - coalesce(t.unknown_since, t.updated_at), t.attempt, null
from {{schema}}.transfer t where t.remote_id is null and t.status = 'pending' and t.stage = 'blocked'
union all
select t.id, t.account_id, t.stage, t.reason, 'a look at its status, which is overdue', 'Start workers, or see why the service does not answer.',
  t.follow_at, now() - t.follow_at, t.attempt, null
from {{schema}}.transfer t where t.stage = 'submitted' and t.follow_at < now() - interval '1 minute'
union all
select t.id, t.account_id, t.stage, t.reason, 'a person: the service does not know it any more',
  'Find out what was paid. Restore what the service has lost, and nothing else is needed; or release it to send the same key again.',
  t.unknown_since, now() - t.unknown_since, t.attempt, null
from {{schema}}.transfer t where t.follow_at is not null and t.stage = 'submitted' and t.reason = 'missing_at_service';
comment on view {{schema}}.stuck_transfers is
  'Transfers that wait for something other than their turn: what each one waits for, since when, and what to do about it.';
comment on column {{schema}}.stuck_transfers.waits_for is 'What it waits for, in words.';
comment on column {{schema}}.stuck_transfers.remedy is 'What a person can do about it.';
comment on column {{schema}}.stuck_transfers.since is 'Since when: of an unknown outcome, when it became unknown.';

create or replace view {{schema}}.account_backlog as
with live as (
  select t.account_id, t.stage, t.created_at from {{schema}}.transfer t where t.remote_id is null and t.status = 'pending' and t.stage <> 'settled'
  union all
  select t.account_id, t.stage, t.created_at from {{schema}}.transfer t where t.follow_at is not null and t.remote_id is not null
), counted as (
  select l.account_id,
    count(*) filter (where l.stage = 'queued') as queued,
    count(*) filter (where l.stage = 'submitting') as submitting,
    count(*) filter (where l.stage = 'awaiting_funds') as awaiting_funds,
    count(*) filter (where l.stage = 'blocked') as blocked,
    count(*) filter (where l.stage = 'submitted') as submitted,
    min(l.created_at) filter (where l.stage <> 'submitted') as oldest_unsubmitted_at,
    min(l.created_at) filter (where l.stage = 'submitted') as oldest_submitted_at
  from live l group by l.account_id
)
select coalesce(c.account_id, a.account_id) as account_id, coalesce(a.paused, false) as paused,
  coalesce(c.queued, 0)::integer as queued, coalesce(c.submitting, 0)::integer as submitting,
  coalesce(c.awaiting_funds, 0)::integer as awaiting_funds, coalesce(c.blocked, 0)::integer as blocked,
  coalesce(c.submitted, 0)::integer as submitted, c.oldest_unsubmitted_at, c.oldest_submitted_at, a.funds_arrived_at,
  a.rate_per_second, a.concurrency, coalesce(a.weight, 1) as weight, p.rate as lowered_rate,
  case when p.held_until > now() then p.held_until end as held_until
from counted c full join {{schema}}.account a on a.account_id = c.account_id
left join {{schema}}.account_pace p on p.account_id = coalesce(c.account_id, a.account_id)
where c.account_id is not null or a.paused or a.rate_per_second is not null or a.concurrency is not null or a.weight <> 1;
comment on view {{schema}}.account_backlog is
  'What is not settled, per account, and accounts that are paused or have limits. Reads live transfers only.';
comment on column {{schema}}.account_backlog.rate_per_second is 'Most submissions per second; null for no limit.';
comment on column {{schema}}.account_backlog.concurrency is 'Most submissions under way at once; null for no limit.';
comment on column {{schema}}.account_backlog.weight is 'Share in the order of dispatch, relative to the 1 of others.';
comment on column {{schema}}.account_backlog.lowered_rate is
  'Submissions per second that are left to it since the service said 429; null when it is not slowed down.';
comment on column {{schema}}.account_backlog.held_until is 'Until when the service asked it to wait; null when that is over.';
comment on column {{schema}}.account_backlog.oldest_unsubmitted_at is
  'When the oldest transfer was enqueued that the service does not have for certain.';

create or replace view {{schema}}.subscription_lag as
select s.name, s.types,
  coalesce(d.undelivered, 0)::integer as undelivered, coalesce(d.failing, 0)::integer as failing,
  coalesce(d.dead_letters, 0)::integer as dead_letters, d.oldest_at, now() - d.oldest_at as lag, f.last_error, s.created_at,
  s.attended_at
from {{schema}}.subscription s
left join (
  select d.subscription, count(*) filter (where not d.dead) as undelivered,
    count(*) filter (where not d.dead and d.failures > 0) as failing, count(*) filter (where d.dead) as dead_letters,
    min(e.occurred_at) filter (where not d.dead) as oldest_at
  from {{schema}}.delivery d
  join {{schema}}.event e on e.transfer_id = d.transfer_id and e.sequence = d.sequence
  group by d.subscription
) d on d.subscription = s.name
left join lateral (
  select x.last_error from {{schema}}.delivery x where x.subscription = s.name and x.last_error is not null
  order by x.due_at desc limit 1
) f on d.failing > 0 or d.dead_letters > 0;
comment on view {{schema}}.subscription_lag is 'How far each subscription is behind. A dead letter holds later events of its transfer back.';
comment on column {{schema}}.subscription_lag.undelivered is 'Events that it has yet to handle, dead letters not counted.';
comment on column {{schema}}.subscription_lag.failing is 'Those of them whose handler has failed at least once.';
comment on column {{schema}}.subscription_lag.oldest_at is 'When the oldest event that it has yet to handle was recorded.';
comment on column {{schema}}.subscription_lag.attended_at is 'When a process last attended it, to the minute; null before the first.';
comment on column {{schema}}.subscription_lag.last_error is 'What its handler failed with last, among events that are still there.';
