-- A role may have the right to read the view and not the tables below it, so this is no function. Accounts that are paused or have limits are rows
-- without a gateway, which count where there are no others: a condition on accounts is then searched by an index.
create or replace view {{schema}}.account_backlog as
with live as (
  select t.account_id, t.gateway, t.stage, t.created_at from {{schema}}.transfer t where t.remote_id is null and t.status = 'pending' and t.stage <> 'settled'
  union all
  select t.account_id, t.gateway, t.stage, t.created_at from {{schema}}.transfer t where t.next_poll_at is not null and t.remote_id is not null
  union all
  select a.account_id, null, null, null from {{schema}}.account a where a.paused or a.rate_per_second is not null or a.concurrency is not null or a.weight <> 1
), counted as (
  select l.account_id, l.gateway,
    count(*) filter (where l.stage = 'queued') as queued,
    count(*) filter (where l.stage = 'submitting') as submitting,
    count(*) filter (where l.stage = 'awaiting_funds') as awaiting_funds,
    count(*) filter (where l.stage = 'blocked') as blocked,
    count(*) filter (where l.stage = 'submitted') as submitted,
    count(*) filter (where l.stage = 'held') as held,
    min(l.created_at) filter (where l.stage not in ('held', 'submitted')) as oldest_unsubmitted_at,
    min(l.created_at) filter (where l.stage = 'submitted') as oldest_submitted_at,
    count(*) over (partition by l.account_id) as rows
  from live l group by l.account_id, l.gateway
)
select c.account_id, coalesce(a.paused, false) as paused, c.queued::integer as queued, c.submitting::integer as submitting,
  c.awaiting_funds::integer as awaiting_funds, c.blocked::integer as blocked, c.submitted::integer as submitted,
  c.oldest_unsubmitted_at, c.oldest_submitted_at, a.funds_arrived_at,
  a.rate_per_second, a.concurrency, coalesce(a.weight, 1) as weight, p.rate as lowered_rate,
  case when p.throttled_until > now() then p.throttled_until end as throttled_until, coalesce(c.gateway, 'default') as gateway,
  c.held::integer as held
from counted c left join {{schema}}.account a on a.account_id = c.account_id
left join {{schema}}.account_throttle p on p.account_id = {{schema}}.gateway_account(coalesce(c.gateway, 'default'), c.account_id)
where c.gateway is not null or c.rows = 1;
comment on view {{schema}}.account_backlog is
  'Unsettled transfers per account and gateway, and accounts that are paused or have limits. Reads live transfers only.';
comment on column {{schema}}.account_backlog.rate_per_second is 'Most submissions per second; null for no limit.';
comment on column {{schema}}.account_backlog.concurrency is 'Most submissions under way at once; null for no limit.';
comment on column {{schema}}.account_backlog.weight is 'Share in the order of dispatch, relative to the 1 of others.';
comment on column {{schema}}.account_backlog.lowered_rate is
  'Submissions per second while the engine throttles it after a 429; null when it is not throttled.';
comment on column {{schema}}.account_backlog.throttled_until is 'Until when the service asked for a pause; null when that is over.';
comment on column {{schema}}.account_backlog.oldest_unsubmitted_at is
  'When the oldest transfer was enqueued that the service may not have, those not counted that people hold.';
comment on column {{schema}}.account_backlog.held is 'Transfers that people have to approve or release.';
