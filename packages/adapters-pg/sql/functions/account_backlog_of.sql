-- What these accounts, or all, have that is not settled, by gateway, and accounts that are paused or have limits. Postgres puts this text into the
-- statement that calls it, so that a few accounts are found by an index. Reads live transfers only.
create or replace function {{schema}}.account_backlog_of(p_account_ids text[])
returns table (account_id text, paused boolean, queued integer, submitting integer, awaiting_funds integer, blocked integer, submitted integer,
  oldest_unsubmitted_at timestamptz, oldest_submitted_at timestamptz, funds_arrived_at timestamptz, rate_per_second double precision,
  concurrency integer, weight double precision, lowered_rate double precision, throttled_until timestamptz, gateway text, held integer)
language sql stable as $$
  with live as (
    select t.account_id, t.gateway, t.stage, t.created_at from {{schema}}.transfer t where t.remote_id is null and t.status = 'pending' and t.stage <> 'settled'
        and (p_account_ids is null or t.account_id = any (p_account_ids))
    union all
    select t.account_id, t.gateway, t.stage, t.created_at from {{schema}}.transfer t where t.next_poll_at is not null and t.remote_id is not null
        and (p_account_ids is null or t.account_id = any (p_account_ids))
  ), counted as (
    select l.account_id, l.gateway,
      count(*) filter (where l.stage = 'queued') as queued,
      count(*) filter (where l.stage = 'submitting') as submitting,
      count(*) filter (where l.stage = 'awaiting_funds') as awaiting_funds,
      count(*) filter (where l.stage = 'blocked') as blocked,
      count(*) filter (where l.stage = 'submitted') as submitted,
      count(*) filter (where l.stage = 'held') as held,
      min(l.created_at) filter (where l.stage not in ('held', 'submitted')) as oldest_unsubmitted_at,
      min(l.created_at) filter (where l.stage = 'submitted') as oldest_submitted_at
    from live l group by l.account_id, l.gateway
  )
  select coalesce(c.account_id, a.account_id) as account_id, coalesce(a.paused, false) as paused,
    coalesce(c.queued, 0)::integer as queued, coalesce(c.submitting, 0)::integer as submitting,
    coalesce(c.awaiting_funds, 0)::integer as awaiting_funds, coalesce(c.blocked, 0)::integer as blocked,
    coalesce(c.submitted, 0)::integer as submitted, c.oldest_unsubmitted_at, c.oldest_submitted_at, a.funds_arrived_at,
    a.rate_per_second, a.concurrency, coalesce(a.weight, 1) as weight, p.rate as lowered_rate,
    case when p.throttled_until > now() then p.throttled_until end as throttled_until, coalesce(c.gateway, 'default') as gateway,
    coalesce(c.held, 0)::integer as held
  from counted c full join {{schema}}.account a on a.account_id = c.account_id
  left join {{schema}}.account_throttle p
    on p.account_id = {{schema}}.gateway_account(coalesce(c.gateway, 'default'), coalesce(c.account_id, a.account_id))
  where (c.account_id is not null or a.paused or a.rate_per_second is not null or a.concurrency is not null or a.weight <> 1)
      and (p_account_ids is null or coalesce(c.account_id, a.account_id) = any (p_account_ids))
$$;
