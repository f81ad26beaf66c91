-- Claim: transfers to the workers that fetched their jobs.
-- Replaced as a whole when it changes; never change a signature, add a new name instead.

-- Sends the transfers of accounts with refused credentials back to wait, but for one probe per account that is due for one.
-- Answers with those that wait. The probe is the first transfer behind the last one, and then the first of all again: what the
-- service refuses to one of them alone says nothing of the account. The caller has locked the transfers.
create or replace function {{schema}}.park_refused(p_ids text[], p_jobs uuid[]) returns text[] language plpgsql as $$
declare
  v_parked text[];
  v_due text[];
begin
  -- Whoever has locked one probes it already, or is a host that has just mended its credentials: the sweep wakes a probe then.
  v_due := array(
    select r.account_id from {{schema}}.refused_account r
    where r.probe_at <= clock_timestamp() and r.account_id in (select t.account_id from {{schema}}.transfer t where t.id = any (p_ids))
    order by r.account_id for update skip locked);
  with mine as materialized (
    select t.id, t.account_id, n.job, t.id <= r.probed_id as was_probed from unnest(p_ids, p_jobs) as n (id, job)
    join {{schema}}.transfer t on t.id = n.id and t.stage in ('queued', 'submitting', 'awaiting_funds')
    join {{schema}}.refused_account r on r.account_id = t.account_id
    where not exists (select 1 from {{schema}}.account f where f.account_id = t.account_id and f.paused)
  ), probe as materialized (
    select distinct on (m.account_id) m.account_id, m.id from mine m where m.account_id = any (v_due)
    order by m.account_id, m.was_probed is true, m.id
  ), probing as (
    -- The probe has a minute; then, if its worker died, another one may.
    update {{schema}}.refused_account r set probe_at = clock_timestamp() + interval '1 minute', probed_id = p.id
    from probe p where r.account_id = p.account_id
  ), parked as (
    update {{schema}}.transfer t
    set stage = 'queued', reason = 'unauthenticated', updated_at = clock_timestamp(),
        unknown_since = case when t.stage = 'submitting' and t.request #> '{destination,addressId}' is not null
          then coalesce(t.unknown_since, t.updated_at) else t.unknown_since end
    from mine m
    where t.id = m.id and m.id not in (select p.id from probe p)
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
-- destination has no id was never sent. The key that is sent is written with the first attempt; it is what `idempotency_key` in the
-- answer is, also for code that knows of no other. The client is that of the account's last request, or `p_client` where all are
-- sent alike, and stays who sent the first request while its outcome is unknown.
create or replace function {{schema}}.begin_attempts(p_ids text[], p_worker text, p_client text)
returns table (
  id text, account_id text, idempotency_key text, request jsonb, attempt integer, reason text, unknown_since text, expires_at text,
  claimed_at text, unknown_attempt integer, released boolean, client text, environment text
) language plpgsql as $$
#variable_conflict use_column
declare
  v_at timestamptz := clock_timestamp();
begin
  return query
  with taken as (
    update {{schema}}.transfer t
    set attempt = t.attempt + 1, stage = 'submitting', updated_at = v_at,
        unknown_since = case when t.stage = 'submitting' and t.request #> '{destination,addressId}' is not null
          then coalesce(t.unknown_since, t.updated_at) else t.unknown_since end,
        submission_key = case when t.attempt = 0
          then {{schema}}.submission_key('transfer', t.account_id, t.idempotency_key) else t.submission_key end,
        client = case
          when t.unknown_since is not null or (t.stage = 'submitting' and t.request #> '{destination,addressId}' is not null) then t.client
          else coalesce(p_client, (select c.client from {{schema}}.account_client c where c.account_id = t.account_id), t.client) end
    where t.id = any (p_ids)
    returning t.id, t.account_id, coalesce(t.submission_key, t.idempotency_key) as sent_key, t.request, t.attempt, t.reason,
      t.unknown_since, t.expires_at, t.released_at, t.client, t.environment
  ), logged as (
    insert into {{schema}}.attempt (transfer_id, attempt, worker, step, claimed_at)
    select k.id, k.attempt, p_worker, case when k.request #> '{destination,addressId}' is null then 'registration' end, v_at from taken k
  )
  select k.id, k.account_id, k.sent_key, k.request, k.attempt, k.reason, {{schema}}.iso(k.unknown_since),
    {{schema}}.iso(k.expires_at), {{schema}}.iso(v_at),
    case when k.unknown_since is not null then (
      select min(a.attempt) from {{schema}}.attempt a where a.transfer_id = k.id and a.claimed_at >= k.unknown_since) end,
    k.released_at is not null, k.client, k.environment
  from taken k;
end
$$;

-- Locks those of the transfers that nobody else has locked and that wait for an attempt, and answers with them and their jobs. The
-- others leave the queue's hands: jobs of what has ended are deleted, those of what is not due before a time wait for that, and
-- those of what is locked come again soon, less and less often.
create or replace function {{schema}}.take_free(p_ids text[], p_jobs uuid[], out ids text[], out jobs uuid[])
language plpgsql as $$
declare
  v_over uuid[];
begin
  with free as materialized (
    select t.id, t.stage, t.not_before from {{schema}}.transfer t where t.id = any (p_ids) order by t.id for no key update skip locked
  ), mine as materialized (
    select n.id, n.job, f.id is not null as is_free, f.not_before > clock_timestamp() as is_early, f.not_before,
      f.stage in ('queued', 'submitting', 'awaiting_funds') as is_open,
      f.id is null and not exists (select 1 from {{schema}}.transfer t where t.id = n.id) as is_gone
    from unnest(p_ids, p_jobs) as n (id, job) left join free f on f.id = n.id
  ), later as materialized (
    -- Who has locked a transfer may have locked its job.
    select j.id, m.is_free, m.not_before, j.retry_count from mine m join {{queue_table}} j on j.name = '{{queue}}' and j.id = m.job
    where j.state = 'active' and (not m.is_free or m.is_open and m.is_early) and not m.is_gone
    for update of j skip locked
  ), back as (
    update {{queue_table}} j
    set state = 'retry', heartbeat_on = null,
        start_after = case when l.is_free then l.not_before
          else clock_timestamp() + least(5, 0.25 * power(2, least(l.retry_count, 10))) * (0.5 + random()) * interval '1 second' end
    from later l where j.name = '{{queue}}' and j.id = l.id
  )
  select array_agg(m.id) filter (where m.is_free and m.is_open and m.is_early is not true),
    array_agg(m.job) filter (where m.is_free and m.is_open and m.is_early is not true),
    array_agg(m.job) filter (where m.is_gone or m.is_free and not m.is_open)
  into ids, jobs, v_over
  from mine m;
  if v_over is not null then
    delete from {{queue_table}} j where j.name = '{{queue}}' and j.id in (
      select o.id from {{queue_table}} o where o.name = '{{queue}}' and o.id = any (v_over) for update skip locked);
  end if;
  ids := coalesce(ids, '{}');
  jobs := coalesce(jobs, '{}');
end
$$;

-- Takes transfers for one attempt each and writes the attempt before any byte leaves. The plans are kept, and held to indexes:
-- they may be made while the tables are empty.
--
-- Nobody is waited for: whatever a host's transaction has locked goes back to the queue for some moments with its job, and the
-- rest is taken. The job of what has ended is deleted. What is locked in spite of that is given up after a quarter of a second.
create or replace function {{schema}}.take(p_ids text[], p_jobs uuid[], p_worker text, p_client text)
returns table (
  id text, account_id text, idempotency_key text, request jsonb, attempt integer, reason text, unknown_since text, expires_at text,
  claimed_at text, unknown_attempt integer, released boolean, client text, environment text, refusals integer,
  registration jsonb, own_refusals integer
) language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_parked text[] := '{}';
  v_inline boolean := exists (select 1 from {{schema}}.counterparty_details d where d.transfer_id = any (p_ids));
  v_all_jobs uuid[] := p_jobs;
  v_paused text[];
  v_taken text[];
begin
  select f.ids, f.jobs into p_ids, p_jobs from {{schema}}.take_free(p_ids, p_jobs) f;
  -- Read once: one that is paused from here on is paused for the next claim, not for a half of this one.
  v_paused := array(select h.account_id from {{schema}}.held_account h);

  -- The transfers of a paused or stopped account go back, out of everybody's way until the account is resumed.
  if cardinality(v_paused) > 0 then
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
    order by t.id);
  return query
  select k.*, coalesce(r.refusals, 0), case when v_inline then {{schema}}.registration_of(k.id) end,
    coalesce(o.refusals + o.passed::integer, 0)
  from {{schema}}.begin_attempts(v_taken, p_worker, p_client) k
  left join {{schema}}.refused_account r on r.account_id = k.account_id
  left join {{schema}}.refused_transfer o on o.transfer_id = k.id;

  perform {{schema}}.advance_clock(
    (select max(-j.priority) from {{queue_table}} j where j.name = '{{queue}}' and j.id = any (v_all_jobs)));
end
$$;
