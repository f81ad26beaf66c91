-- Counts what was enqueued, accepted and ended in five minutes, and replaces what was counted of them before: a pure function of what is committed. Transfers that the
-- engine adopted are left out, for nobody enqueued them here. What was completed counts with what was paid, as it is known then. What waits until its time has come is late from then on. The plans are held to indexes: they may be made
-- while the tables are empty.
create or replace function {{schema}}.count_part(p_from timestamptz) returns void language plpgsql
set work_mem = '32MB' set plan_cache_mode = force_generic_plan set enable_sort = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  v_to timestamptz := p_from + interval '5 minutes';
begin
  delete from {{schema}}.transfer_count c where c.span = 'part' and c.began_at = p_from;
  insert into {{schema}}.transfer_count
  with facts (gateway, account_id, currency, kind, bucket, n, value) as materialized (
    select t.gateway, t.account_id, t.request -> 'amount' ->> 'currency', 'enqueued', null::integer, count(*), sum({{schema}}.amount_of(t.request -> 'amount'))
    from {{schema}}.transfer t
    where t.created_at >= p_from and t.created_at < v_to and (t.attempt > 0 or t.remote_id is null or not {{schema}}.was_adopted(t.id))
    group by 1, 2, 3
    union all
    select f.gateway, f.account_id, f.currency, f.type, f.bucket, count(*), sum({{schema}}.amount_of(f.amount)) from (
      select t.gateway, t.account_id, t.currency, e.type, case when e.type = 'transfer.completed' then coalesce(t.paid, t.asked) else t.asked end as amount,
        case when e.type in ('transfer.submitted', 'transfer.completed', 'transfer.failed') then
          floor(4 * ln(greatest(1, extract(epoch from e.occurred_at - t.since)::float8 * 1000)) / ln(2::float8))::integer end as bucket
      from {{schema}}.event e
      cross join lateral (
        select t.gateway, t.account_id, t.request -> 'amount' ->> 'currency' as currency, t.request -> 'amount' as asked, t.paid -> 'amount' as paid,
          greatest(t.created_at, t.not_before) as since, t.id, t.attempt, t.remote_id
        from {{schema}}.transfer t where t.id = e.transfer_id offset 0) t
      where e.occurred_at >= p_from and e.occurred_at < v_to
        and (e.type in ('transfer.submitted', 'transfer.blocked') or e.stage = 'settled' and e.type in ('transfer.completed', 'transfer.failed', 'transfer.canceled'))
        and (t.attempt > 0 or t.remote_id is null or not {{schema}}.was_adopted(t.id))
    ) f group by 1, 2, 3, 4, 5
  ), spread as (
    select a.account_id, f.gateway, f.currency, m.kind, m.bucket, sum(f.n) as n, sum(f.value) as value
    from facts f cross join lateral (values (f.account_id), ('')) a (account_id)
    cross join lateral (
      select f.kind, case when f.kind = 'transfer.submitted' then f.bucket end
      union all
      select 'ended', f.bucket where f.kind in ('transfer.completed', 'transfer.failed')) m (kind, bucket)
    group by 1, 2, 3, 4, 5
  )
  select 'part', p_from, s.account_id, s.gateway, s.currency,
    coalesce(sum(s.n) filter (where s.kind = 'enqueued'), 0), coalesce(sum(s.n) filter (where s.kind = 'transfer.completed'), 0),
    coalesce(sum(s.n) filter (where s.kind = 'transfer.failed'), 0), coalesce(sum(s.n) filter (where s.kind = 'transfer.canceled'), 0),
    coalesce(sum(s.n) filter (where s.kind = 'transfer.blocked'), 0), coalesce(sum(s.value) filter (where s.kind = 'enqueued'), 0),
    coalesce(sum(s.value) filter (where s.kind = 'transfer.completed'), 0),
    coalesce(jsonb_object_agg(s.bucket, s.n) filter (where s.kind = 'transfer.submitted'), '{}'),
    coalesce(jsonb_object_agg(s.bucket, s.n) filter (where s.kind = 'ended'), '{}')
  from spread s group by s.account_id, s.gateway, s.currency;
end
$$;
