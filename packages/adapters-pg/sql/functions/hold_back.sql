-- Sends transfers back to wait that are more than their accounts may send now. Answers with those that wait. The oldest go
-- first, and none passes one that waits already. Those that await funds come again soon; the others when there is room. The
-- caller has locked the transfers.
create or replace function {{schema}}.hold_back(p_ids text[], p_jobs uuid[], p_without text[])
returns text[] language plpgsql as $$
declare
  v_accounts text[];
  v_held text[];
begin
  select array_agg(distinct t.account_id) into v_accounts from {{schema}}.transfer t
  where t.id = any (p_ids) and (
    exists (
      select 1 from {{schema}}.account f
      where f.account_id = t.account_id and (f.rate_per_second is not null or f.concurrency is not null))
    or exists (select 1 from {{schema}}.account_pace p where p.account_id = t.account_id and p.rate is not null));
  if v_accounts is null then
    return '{}';
  end if;
  insert into {{schema}}.account_pace (account_id) select a.id from unnest(v_accounts) as a (id) order by a.id on conflict do nothing;
  perform 1 from {{schema}}.account_pace p where p.account_id = any (v_accounts) order by p.account_id for update;

  with account as materialized (
    select p.account_id, r.*, w.id as oldest_waiting
    from {{schema}}.account_pace p
    cross join lateral {{schema}}.account_room(p.account_id, p_ids) r
    left join lateral (
      select w.id from {{schema}}.transfer w
      where w.account_id = p.account_id and w.reason = 'account_limited' and w.stage = 'queued' and w.id <> all (p_ids)
      order by w.id limit 1
    ) w on p.waiting
    where p.account_id = any (v_accounts)
  ), mine as (
    select n.id, n.job, t.stage, a.*,
      a.oldest_waiting is null or t.id < a.oldest_waiting or t.stage <> 'queued' or t.reason is not distinct from 'account_limited' as is_next
    from unnest(p_ids, p_jobs) as n (id, job)
    join {{schema}}.transfer t on t.id = n.id and t.stage in ('queued', 'submitting', 'awaiting_funds')
    join account a on a.account_id = t.account_id
    where n.id <> all (p_without)
      and not exists (select 1 from {{schema}}.account f where f.account_id = t.account_id and f.paused)
  ), verdict as materialized (
    select m.*, m.is_next
      and row_number() over (partition by m.account_id, m.is_next order by m.id) <= coalesce(m.room, 2147483647) as goes
    from mine m
  ), paced as (
    update {{schema}}.account_pace p
    set next_at = case when n.going > 0 then n.since + make_interval(secs => n.going / n.rate) else p.next_at end,
        waiting = p.waiting or n.staying > 0,
        waited_at = case when n.staying > 0 then clock_timestamp() else p.waited_at end
    from (
      select v.account_id, v.since, v.rate, count(*) filter (where v.goes) as going, count(*) filter (where not v.goes) as staying
      from verdict v group by 1, 2, 3
    ) n
    where p.account_id = n.account_id
  ), taken as (
    insert into {{schema}}.submission_slot (transfer_id, account_id)
    select v.id, v.account_id from verdict v where v.goes and v.concurrency is not null
    on conflict do nothing
  ), parked as (
    update {{schema}}.transfer t
    set stage = 'queued', reason = 'account_limited', updated_at = clock_timestamp(),
        unknown_since = case when t.stage = 'submitting' and t.request #> '{destination,addressId}' is not null
          then coalesce(t.unknown_since, t.updated_at) else t.unknown_since end
    from verdict v where t.id = v.id and not v.goes and v.stage <> 'awaiting_funds'
  ), back as (
    update {{queue_table}} j
    set state = 'retry', heartbeat_on = null,
        start_after = clock_timestamp() + case when v.stage = 'awaiting_funds' then interval '5 seconds' else interval '10 years' end
    from verdict v where not v.goes and j.name = '{{queue}}' and j.id = v.job
  )
  select array_agg(v.id) into v_held from verdict v where not v.goes;
  return coalesce(v_held, '{}');
end
$$;
