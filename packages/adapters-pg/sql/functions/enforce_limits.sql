-- Defers transfers beyond what their accounts may send now, and returns the deferred ones. The oldest go first, and none passes
-- one that waits already, but for a probe of refused credentials: the others wait for it too, and one that a host has locked would
-- keep it from being sent. Those that await funds come again when their turn may come, and those
-- whose throttle is locked soon; the others when there are permits.
-- The caller has locked the transfers.
create or replace function {{schema}}.enforce_limits(p_ids text[], p_jobs uuid[], p_without text[])
returns text[] language plpgsql as $$
declare
  v_accounts text[];
  v_busy text[];
  v_held text[];
  v_held_jobs uuid[];
  v_due_at timestamptz[];
begin
  select array_agg(distinct {{schema}}.gateway_account(t.gateway, t.account_id)) into v_accounts from {{schema}}.transfer t
  where t.id = any (p_ids) and (
    exists (
      select 1 from {{schema}}.account f
      where f.account_id = t.account_id and (f.rate_per_second is not null or f.concurrency is not null))
    or exists (select 1 from {{schema}}.account_throttle p where p.account_id = {{schema}}.gateway_account(t.gateway, t.account_id) and p.rate is not null));
  if v_accounts is null then
    return '{}';
  end if;
  v_busy := {{schema}}.lock_throttles(v_accounts, p_ids, p_jobs, p_without);

  with account as materialized (
    select p.account_id, r.*, w.id as oldest_waiting
    from {{schema}}.account_throttle p
    cross join lateral {{schema}}.available_permits(p.account_id, p_ids) r
    left join lateral (
      select w.id from {{schema}}.transfer w
      where w.account_id = {{schema}}.account_of(p.account_id) and w.gateway = {{schema}}.gateway_of(p.account_id) and w.reason = 'account_limited' and w.stage = 'queued' and w.id <> all (p_ids)
      order by w.id limit 1
    ) w on p.waiting
    where p.account_id = any (v_accounts)
  ), mine as (
    select n.id, n.job, t.stage, a.*,
      a.oldest_waiting is null or t.id < a.oldest_waiting or t.stage <> 'queued'
        or t.reason is not distinct from 'account_limited' or t.reason is not distinct from 'unauthenticated' as is_next
    from unnest(p_ids, p_jobs) as n (id, job)
    join {{schema}}.transfer t on t.id = n.id and t.stage in ('queued', 'submitting', 'awaiting_funds')
    join account a on a.account_id = {{schema}}.gateway_account(t.gateway, t.account_id)
    where n.id <> all (p_without || v_busy)
      and not exists (select 1 from {{schema}}.account f where f.account_id = t.account_id and f.paused)
  ), verdict as materialized (
    select m.*, row_number() over (partition by m.account_id order by m.id) as place, m.is_next and row_number() over (partition by m.account_id, m.is_next order by m.id) <= coalesce(m.permits, 2147483647) as goes
    from mine m
  ), throttled as (
    update {{schema}}.account_throttle p
    set next_at = case when n.going > 0 then n.since + make_interval(secs => n.going / n.rate) else p.next_at end,
        waiting = p.waiting or n.staying > 0,
        waited_at = case when n.staying > 0 then clock_timestamp() else p.waited_at end
    from (
      select v.account_id, v.since, v.rate, count(*) filter (where v.goes) as going, count(*) filter (where not v.goes) as staying
      from verdict v group by 1, 2, 3
    ) n
    where p.account_id = n.account_id
  ), permitted as (
    insert into {{schema}}.submission_slot (transfer_id, account_id)
    select v.id, v.account_id from verdict v where v.goes and v.concurrency is not null
    on conflict do nothing
  ), deferred as (
    update {{schema}}.transfer t
    set stage = 'queued', reason = 'account_limited', updated_at = clock_timestamp(),
        unknown_since = {{schema}}.unknown_since_of(t)
    from verdict v where t.id = v.id and not v.goes and v.stage <> 'awaiting_funds'
  )
  select array_agg(v.id), array_agg(v.job), array_agg(clock_timestamp() + case when v.stage <> 'awaiting_funds' then interval '10 years'
    else make_interval(secs => least(3600, greatest(5, v.place / coalesce(v.rate, 10)))) end)
  into v_held, v_held_jobs, v_due_at from verdict v where not v.goes;
  perform {{schema}}.queue_defer(v_held_jobs, v_due_at);
  return coalesce(v_held, '{}') || v_busy;
end
$$;
