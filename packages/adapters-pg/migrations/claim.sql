-- Claim: transfers to the workers that fetched their jobs.
-- Replaced as a whole when it changes; never change a signature, add a new name instead.

-- Sends the transfers of accounts with refused credentials back to wait, but for one probe per account that is due for one.
-- Answers with those that wait.
create or replace function {{schema}}.park_refused(p_ids text[], p_jobs uuid[]) returns text[] language plpgsql as $$
declare
  v_parked text[];
  v_due text[];
begin
  perform 1 from {{schema}}.transfer t where t.id = any (p_ids) order by t.id for update;
  -- Whoever has locked one probes it already, or is a host that has just mended its credentials: the sweep wakes a probe then.
  v_due := array(
    select r.account_id from {{schema}}.refused_account r
    where r.probe_at <= clock_timestamp() and r.account_id in (select t.account_id from {{schema}}.transfer t where t.id = any (p_ids))
    order by r.account_id for update skip locked);
  with mine as materialized (
    select t.id, t.account_id, n.job from unnest(p_ids, p_jobs) as n (id, job)
    join {{schema}}.transfer t on t.id = n.id and t.stage in ('queued', 'submitting', 'awaiting_funds')
    join {{schema}}.refused_account r on r.account_id = t.account_id
    where not exists (select 1 from {{schema}}.account f where f.account_id = t.account_id and f.paused)
  ), probing as (
    -- The probe has a minute; then, if its worker died, another one may.
    update {{schema}}.refused_account r set probe_at = clock_timestamp() + interval '1 minute'
    where r.account_id = any (v_due) and r.account_id in (select m.account_id from mine m)
    returning r.account_id
  ), parked as (
    update {{schema}}.transfer t
    set stage = 'queued', reason = 'unauthenticated', updated_at = clock_timestamp(),
        unknown_since = case when t.stage = 'submitting' and t.request #> '{destination,addressId}' is not null
          then coalesce(t.unknown_since, t.updated_at) else t.unknown_since end
    from mine m
    where t.id = m.id and m.id not in (select min(o.id) from mine o join probing p on p.account_id = o.account_id group by o.account_id)
    returning t.id, m.job
  ), back as (
    update {{queue_table}} j set state = 'retry', heartbeat_on = null, start_after = clock_timestamp() + interval '10 years'
    from parked p where j.name = '{{queue}}' and j.id = p.job
  )
  select array_agg(p.id) into v_parked from parked p;
  return coalesce(v_parked, '{}');
end
$$;

-- Begins an attempt of each of these transfers, which the caller has locked, and writes it down. An attempt that was claimed
-- before and never settled has an unknown outcome from its claim on, unless it was to register a counterparty: a transfer whose
-- destination has no id was never sent.
create or replace function {{schema}}.begin_attempts(p_ids text[], p_worker text)
returns table (
  id text, account_id text, idempotency_key text, request jsonb, attempt integer, reason text, unknown_since text, expires_at text,
  environment text
) language plpgsql as $$
#variable_conflict use_column
begin
  return query
  with taken as (
    update {{schema}}.transfer t
    set attempt = t.attempt + 1, stage = 'submitting', updated_at = clock_timestamp(),
        unknown_since = case when t.stage = 'submitting' and t.request #> '{destination,addressId}' is not null
          then coalesce(t.unknown_since, t.updated_at) else t.unknown_since end
    where t.id = any (p_ids)
    returning t.id, t.account_id, t.idempotency_key, t.request, t.attempt, t.reason, t.unknown_since, t.expires_at, t.environment
  ), logged as (
    insert into {{schema}}.attempt (transfer_id, attempt, worker, step)
    select k.id, k.attempt, p_worker, case when k.request #> '{destination,addressId}' is null then 'registration' end from taken k
  )
  select k.id, k.account_id, k.idempotency_key, k.request, k.attempt, k.reason, {{schema}}.iso(k.unknown_since),
    {{schema}}.iso(k.expires_at), k.environment
  from taken k;
end
$$;

-- Takes transfers for one attempt each and writes the attempt before any byte leaves. The plans are kept, and held to indexes:
-- they may be made while the tables are empty.
create or replace function {{schema}}.take(p_ids text[], p_jobs uuid[], p_worker text)
returns table (
  id text, account_id text, idempotency_key text, request jsonb, attempt integer, reason text, unknown_since text, expires_at text,
  environment text, refusals integer, registration jsonb
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_parked text[] := '{}';
  v_inline boolean := exists (select 1 from {{schema}}.counterparty_details d where d.transfer_id = any (p_ids));
  v_paused text[];
  v_taken text[];
begin
  -- Read once: one that is paused from here on is paused for the next claim, not for a half of this one.
  v_paused := array(select h.account_id from {{schema}}.held_account h);

  -- The transfers of a paused or stopped account go back, out of everybody's way until the account is resumed.
  if cardinality(v_paused) > 0 then
    perform 1 from {{schema}}.transfer t where t.id = any (p_ids) and t.account_id = any (v_paused) order by t.id for update;
    with parked as (
      update {{schema}}.transfer t
      set stage = 'queued', reason = 'account_paused', updated_at = clock_timestamp(),
          unknown_since = case when t.stage = 'submitting' and t.request #> '{destination,addressId}' is not null
          then coalesce(t.unknown_since, t.updated_at) else t.unknown_since end
      from unnest(p_ids, p_jobs) as n (id, job)
      where t.id = n.id and t.account_id = any (v_paused) and t.stage in ('queued', 'submitting', 'awaiting_funds')
      returning n.job
    )
    update {{queue_table}} j set state = 'retry', heartbeat_on = null, start_after = clock_timestamp() + interval '10 years'
    from parked p where j.name = '{{queue}}' and j.id = p.job;
    -- One that is resumed from here on must not be given a probe that this claim would not take.
    select coalesce(array_agg(n.id), '{}'), coalesce(array_agg(n.job), '{}') into p_ids, p_jobs
    from unnest(p_ids, p_jobs) as n (id, job) join {{schema}}.transfer t on t.id = n.id
    where t.account_id <> all (v_paused);
  end if;

  if exists (select 1 from {{schema}}.refused_account) then
    v_parked := {{schema}}.park_refused(p_ids, p_jobs);
  end if;

  if exists (select 1 from {{schema}}.account_pace)
    or exists (select 1 from {{schema}}.account f where f.rate_per_second is not null or f.concurrency is not null) then
    v_parked := v_parked || {{schema}}.hold_back(p_ids, p_jobs, v_parked);
  end if;

  if v_inline then
    perform {{schema}}.meet_counterparties(p_ids);
  end if;

  v_taken := array(
    select t.id from {{schema}}.transfer t
    where t.id = any (p_ids) and t.id <> all (v_parked) and t.stage in ('queued', 'submitting', 'awaiting_funds')
      and t.account_id <> all (v_paused)
    order by t.id for update);
  return query
  select k.*, coalesce(r.refusals, 0), case when v_inline then {{schema}}.registration_of(k.id) end
  from {{schema}}.begin_attempts(v_taken, p_worker) k
  left join {{schema}}.refused_account r on r.account_id = k.account_id;

  -- Last, since all claims share this row: one that has to wait for a host's transaction must not hold up the others.
  update {{schema}}.dispatch_clock c set tag = f.tag
  from (select max(-j.priority) as tag from {{queue_table}} j where j.name = '{{queue}}' and j.id = any (p_jobs)) f
  where f.tag > c.tag;
end
$$;
