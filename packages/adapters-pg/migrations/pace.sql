-- Pace: limits of accounts, and what waits for them.
-- Replaced as a whole when it changes; never change a signature, add a new name instead.

-- Changes limits of an account: what is absent stays, null resets.
create or replace function {{schema}}.configure_account(p_account_id text, p_limits jsonb, p_notify boolean) returns void language plpgsql as $$
begin
  insert into {{schema}}.account as a (account_id, rate_per_second, concurrency, weight)
  values (p_account_id, (p_limits ->> 'ratePerSecond')::double precision, (p_limits ->> 'concurrency')::integer,
    coalesce((p_limits ->> 'weight')::double precision, 1))
  on conflict (account_id) do update set
    rate_per_second = case when p_limits ? 'ratePerSecond' then excluded.rate_per_second else a.rate_per_second end,
    concurrency = case when p_limits ? 'concurrency' then excluded.concurrency else a.concurrency end,
    weight = case when p_limits ? 'weight' then excluded.weight else a.weight end;
  if p_notify then
    perform pg_notify('{{channel}}', '');
  end if;
end
$$;

-- How many more submissions an account may begin now; null for any number. `since` is where its saved-up time starts.
-- Transfers of `p_without` do not count as under way: they are asked about. The account's pace is locked by the caller.
create or replace function {{schema}}.account_room(p_account_id text, p_without text[])
returns table (room integer, since timestamptz, rate double precision, concurrency integer) language sql as $$
  select
    least(
      case
        when n.held_until > n.at then 0
        when n.rate is null then null
        when n.since > n.at then 0
        else floor(extract(epoch from n.at - n.since)::double precision * n.rate + 1.000001)::integer
      end,
      case when n.concurrency is not null then n.concurrency - (
        select count(*)::integer from {{schema}}.submission_slot s
        join {{schema}}.transfer t on t.id = s.transfer_id and t.stage = 'submitting'
        where s.account_id = p_account_id and s.transfer_id <> all (p_without)
      ) end),
    n.since, n.rate, n.concurrency
  from (
    select c.at, p.held_until, l.rate, f.concurrency,
      -- Once a second or slower nothing is saved up.
      greatest(p.next_at, p.held_until, c.at - make_interval(secs => greatest(0, 0.25 - 1 / l.rate))) as since
    from {{schema}}.account_pace p
    cross join (select clock_timestamp() as at) c
    left join {{schema}}.account f on f.account_id = p.account_id
    cross join lateral (select least(f.rate_per_second, p.rate) as rate) l
    where p.account_id = p_account_id
  ) n
$$;

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

-- Lets the oldest of what waits go, as many as their accounts may send now; the claim counts them. Answers with the accounts
-- of which more waits, how many were let go, and whether they have a bound on what is under way.
create or replace function {{schema}}.release_waiting(p_limit integer)
returns table (account_id text, released integer, bounded boolean) language plpgsql set lock_timeout = '250ms' as $$
#variable_conflict use_column
declare
  v_account record;
  v_room integer;
  v_ids text[];
begin
  for v_account in
    select p.account_id, f.concurrency is not null as bounded from {{schema}}.account_pace p
    left join {{schema}}.account f on f.account_id = p.account_id
    where p.waiting and f.paused is not true
    order by p.account_id for update of p skip locked
  loop
    account_id := v_account.account_id;
    bounded := v_account.bounded;
    released := 0;
    select least(coalesce(r.room, p_limit), p_limit) into v_room from {{schema}}.account_room(v_account.account_id, '{}') r;
    if v_room > 0 then
      select array_agg(w.id) into v_ids from (
        select t.id from {{schema}}.transfer t
        where t.account_id = v_account.account_id and t.reason = 'account_limited' and t.stage = 'queued' order by t.id limit v_room
      ) w;
      if v_ids is null then
        update {{schema}}.account_pace p set waiting = false where p.account_id = v_account.account_id;
        continue;
      end if;
      -- A host may have locked some of these jobs, in an order of its own; they are let go at the next look.
      with free as (
        select j.id, greatest(clock_timestamp(), t.not_before) as start_after
        from unnest(v_ids) as i (id) join {{schema}}.transfer t on t.id = i.id
        join {{queue_table}} j on j.name = '{{queue}}' and j.id = {{schema}}.job_id(i.id)
        where j.state < 'active' and j.start_after > greatest(clock_timestamp(), t.not_before)
        for update of j skip locked
      )
      update {{queue_table}} j set start_after = f.start_after from free f where j.name = '{{queue}}' and j.id = f.id;
      get diagnostics released = row_count;
    end if;
    return next;
  end loop;
end
$$;
