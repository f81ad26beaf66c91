-- What operators read: views and functions over the engine's tables and the queue, for people, dashboards and alarms.
-- Columns are only ever added at the end. The live ones read partial indexes and never the history: what the
-- service does not have for certain has no remote id, and what is followed has a time for its next look.

create index delivery_dead on {{schema}}.delivery (subscription, transfer_id, sequence) where dead;
-- Both tables grow in the order of time, so a few bytes per range of pages find what is recent.
create index event_occurred on {{schema}}.event using brin (occurred_at) with (pages_per_range = 16, autosummarize = on);
create index attempt_claimed on {{schema}}.attempt using brin (claimed_at) with (pages_per_range = 16, autosummarize = on);

create function {{schema}}.job_id(p_transfer_id text) returns uuid language sql immutable strict parallel safe as $$
  select string_agg(lpad(to_hex(d.value), case d.part when 0 then 2 else 10 end, '0'), '' order by d.part)::uuid
  from (
    select (n + 5) / 8 as part,
      sum((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(p_transfer_id, n, 1)) - 1)::bigint << (5 * (7 - (n + 5) % 8)))::bigint as value
    from generate_series(1, 26) as n group by 1
  ) d
$$;
comment on function {{schema}}.job_id(text) is 'The id of a transfer''s job in the queue: the same 128 bits as a UUID.';

create function {{schema}}.transfer_of_job(p_job_id uuid) returns text language sql immutable strict parallel safe as $$
  select string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(b.bits, 5 * n - 4, 5)::bit(5)::integer + 1, 1), '' order by n)
  from (select '00' || ('x' || replace(p_job_id::text, '-', ''))::bit(128)::text as bits) b, generate_series(1, 26) as n
$$;
comment on function {{schema}}.transfer_of_job(uuid) is 'The id of a job''s transfer: the inverse of job_id.';

-- The queue is behind a function, whose text is looked up when it runs, so that the queue may change its tables.
create function {{schema}}.job_of(p_transfer_id text)
returns table (state text, start_after timestamptz, heartbeat_on timestamptz) language sql stable as $$
  select j.state::text, j.start_after, j.heartbeat_on from {{queue_table}} j
  where j.name = '{{queue}}' and j.id = {{schema}}.job_id(p_transfer_id)
$$;
comment on function {{schema}}.job_of(text) is 'The job of a transfer in the queue; no row when it has none.';

create view {{schema}}.transfers as
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
  j.state as job_state, t.not_before, t.expires_at, t.created_at, t.updated_at
from {{schema}}.transfer t
left join lateral {{schema}}.job_of(t.id) j on t.stage in ('queued', 'submitting', 'awaiting_funds');
comment on view {{schema}}.transfers is
  'Every transfer, one row each. Indexed are id, (account_id, idempotency_key), remote_id, "remote_id is null" for what was not submitted, and next_look_at.';
comment on column {{schema}}.transfers.stage is
  'Where it stands in the engine: queued, submitting, awaiting_funds, submitted, blocked, settled.';
comment on column {{schema}}.transfers.status is 'What the service says about the money: pending, processing, failed, canceled, complete.';
comment on column {{schema}}.transfers.reason is 'Why it waits or is blocked; null when it does neither.';
comment on column {{schema}}.transfers.unknown_since is
  'Since when a request may have had an effect that nobody has confirmed; null when every attempt was answered.';
comment on column {{schema}}.transfers.next_attempt_at is 'When it may be sent next; null when it is not about to be.';
comment on column {{schema}}.transfers.next_look_at is 'When its status at the service is looked at next; null when it is not followed.';
comment on column {{schema}}.transfers.job_state is 'State of its job in the queue: created, retry, active; null when it has no job.';

create view {{schema}}.stuck_transfers as
with waiting as (
  select t.*, j.state as job_state, j.start_after from {{schema}}.transfer t
  left join lateral {{schema}}.job_of(t.id) j on true
  where t.remote_id is null and t.stage in ('queued', 'submitting', 'awaiting_funds')
    and (t.reason is not null or t.unknown_since is not null or t.updated_at < now() - interval '1 minute')
), judged as (
  select w.id, w.account_id, w.stage, w.reason, w.attempt, coalesce(w.unknown_since, w.updated_at) as since, w.start_after,
    case
      when w.stage = 'submitting' then 'the answer to an attempt that its worker holds, or lost when it died'
      when w.job_state is null or w.job_state not in ('created', 'retry', 'active') then 'a job: it has none, and a running engine gives it one'
      when w.stage = 'awaiting_funds' then 'funds: the service refused it for lack of balance'
      when w.reason = 'account_paused' then 'its account, which is paused'
      when w.reason = 'outcome_unknown' then 'certainty: a request left and no answer came; the same key goes out again'
      when w.reason = 'unauthenticated' then 'credentials: the service refuses those of the account'
      when w.reason = 'rate_limited' then 'the service, which asked for a pause'
      when w.start_after > now() then 'its next attempt'
      else 'a worker: it is due and nobody has taken it'
    end as waits_for,
    case
      when w.stage = 'submitting' then 'Nothing, while workers run: the job comes back when its heartbeat stops.'
      when w.job_state is null or w.job_state not in ('created', 'retry', 'active') then 'Start a worker; its sweep repairs this. Or release it.'
      when w.stage = 'awaiting_funds' then 'Fund the source and tell the engine (accounts.fundsArrived), or release it, or cancel it.'
      when w.reason = 'account_paused' then 'Resume the account.'
      when w.reason = 'outcome_unknown' then 'Look whether the service answers; nothing else is needed for 24 hours.'
      when w.reason = 'unauthenticated' then 'Give the gateway credentials that work and say so (accounts.credentialsMended); probes find out by themselves, but later.'
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
    when 'idempotency_key_mismatch' then 'a person: the service has its key for another request'
    else 'a person'
  end,
  case t.reason
    when 'outcome_unknown' then 'Ask the service about its key. Release it to send the same key again, which cannot pay twice.'
    when 'idempotency_key_mismatch' then 'Find what the key was used for. Cancel it and enqueue the request under a new key if nothing was paid.'
    else 'Release it, or cancel it.'
  end,
  coalesce(t.unknown_since, t.updated_at), now() - coalesce(t.unknown_since, t.updated_at), t.attempt, null
from {{schema}}.transfer t where t.remote_id is null and t.stage = 'blocked'
union all
select t.id, t.account_id, t.stage, t.reason, 'a look at its status, which is overdue', 'Start workers, or see why the service does not answer.',
  t.follow_at, now() - t.follow_at, t.attempt, null
from {{schema}}.transfer t where t.stage = 'submitted' and t.follow_at < now() - interval '1 minute';
comment on view {{schema}}.stuck_transfers is
  'Transfers that wait for something other than their turn: what each one waits for, since when, and what to do about it.';
comment on column {{schema}}.stuck_transfers.waits_for is 'What it waits for, in words.';
comment on column {{schema}}.stuck_transfers.remedy is 'What a person can do about it.';
comment on column {{schema}}.stuck_transfers.since is 'Since when: of an unknown outcome, when it became unknown.';

create view {{schema}}.account_backlog as
with live as (
  select t.account_id, t.stage, t.created_at from {{schema}}.transfer t where t.remote_id is null and t.stage <> 'settled'
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
  coalesce(c.submitted, 0)::integer as submitted, c.oldest_unsubmitted_at, c.oldest_submitted_at, a.funds_arrived_at
from counted c full join {{schema}}.account a on a.account_id = c.account_id
where c.account_id is not null or a.paused;
comment on view {{schema}}.account_backlog is
  'What is not settled, per account, and accounts that are paused. Reads live transfers only.';
comment on column {{schema}}.account_backlog.oldest_unsubmitted_at is
  'When the oldest transfer was enqueued that the service does not have for certain.';

create view {{schema}}.subscription_lag as
select s.name, s.types,
  coalesce(d.undelivered, 0)::integer as undelivered, coalesce(d.failing, 0)::integer as failing,
  coalesce(d.dead_letters, 0)::integer as dead_letters, d.oldest_at, now() - d.oldest_at as lag, f.last_error, s.created_at
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
comment on column {{schema}}.subscription_lag.last_error is 'What its handler failed with last, among events that are still there.';

create function {{schema}}.attempts_of(p_transfer_id text)
returns table (
  attempt integer, claimed_at timestamptz, answered_at timestamptz, took interval, outcome text, http_status integer,
  request_id text, detail text, worker text
) language sql stable as $$
  select a.attempt, a.claimed_at, a.answered_at, a.answered_at - a.claimed_at, coalesce(a.outcome, 'unanswered'), a.http_status,
    a.request_id, a.detail, a.worker
  from {{schema}}.attempt a where a.transfer_id = p_transfer_id order by a.attempt
$$;
comment on function {{schema}}.attempts_of(text) is
  'The attempts of one transfer, all with the same idempotency key. The outcome of an unanswered one is not known.';

create function {{schema}}.timeline_of(p_transfer_id text)
returns table (at timestamptz, what text, detail text) language sql stable as $$
  select l.at, l.what, l.detail from (
    select a.claimed_at as at, 1 as rank, 'attempt ' || a.attempt as what, 'taken by ' || a.worker as detail
    from {{schema}}.attempt a where a.transfer_id = p_transfer_id
    union all
    select a.answered_at, 2, 'attempt ' || a.attempt || ' ' || a.outcome,
      concat_ws(', ', 'HTTP ' || a.http_status, 'request ' || a.request_id, a.detail)
    from {{schema}}.attempt a where a.transfer_id = p_transfer_id and a.answered_at is not null
    union all
    select e.occurred_at, 3, e.type, concat_ws(', ', e.stage, e.status, e.reason, e.failure ->> 'code', e.failure ->> 'detail')
    from {{schema}}.event e where e.transfer_id = p_transfer_id
  ) l order by l.at, l.rank
$$;
comment on function {{schema}}.timeline_of(text) is 'What happened to one transfer, attempts and events together, oldest first.';
