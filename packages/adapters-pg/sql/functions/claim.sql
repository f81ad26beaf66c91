-- Claims transfers for one attempt each and writes the attempt before any byte leaves. The plans are kept, and held to indexes:
-- they may be made while the tables are empty.
--
-- It does not wait for locks: a transfer that a host's transaction has locked goes back to the queue with its job for some
-- moments, and the others are claimed. Jobs of settled transfers are deleted. A lock that it still runs into fails it after 250 ms.
create or replace function {{schema}}.claim(p_ids text[], p_jobs uuid[], p_worker text, p_client text)
returns table (
  id text, account_id text, idempotency_key text, request jsonb, attempt integer, reason text, unknown_since text, expires_at text,
  claimed_at text, unknown_attempt integer, released boolean, client text, environment text, refusals integer,
  registration jsonb, own_refusals integer
) language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_deferred text[] := '{}';
  v_inline boolean := exists (select 1 from {{schema}}.counterparty_details d where d.transfer_id = any (p_ids));
  v_paused text[];
  v_claimable text[];
  v_deferred_jobs uuid[];
  v_due_at timestamptz[];
begin
  select f.ids, f.jobs into p_ids, p_jobs from {{schema}}.lock_claimable(p_ids, p_jobs) f;
  if exists (select from {{schema}}.paused_batch) then
    select f.ids, f.jobs into p_ids, p_jobs from {{schema}}.defer_paused_batches(p_ids, p_jobs) f;
  end if;
  -- Read once: an account that is paused from here on is paused for the next claim, not for half of this one.
  v_paused := array(select h.account_id from {{schema}}.held_account h);

  -- Defers the transfers of paused and stopped accounts until the account is resumed.
  if cardinality(v_paused) > 0 then
    with deferred as (
      update {{schema}}.transfer t
      set stage = 'queued', reason = 'account_paused', updated_at = clock_timestamp(),
          unknown_since = {{schema}}.unknown_since_of(t)
      from unnest(p_ids, p_jobs) as n (id, job)
      where t.id = n.id and t.account_id = any (v_paused) and t.stage in ('queued', 'submitting', 'awaiting_funds')
      returning n.job
    )
    select array_agg(p.job), array_agg(clock_timestamp() + interval '10 years') into v_deferred_jobs, v_due_at from deferred p;
    perform {{schema}}.queue_defer(v_deferred_jobs, v_due_at);
    -- An account that is resumed from here on must not get a probe that this claim would not send.
    select coalesce(array_agg(n.id), '{}'), coalesce(array_agg(n.job), '{}') into p_ids, p_jobs
    from unnest(p_ids, p_jobs) as n (id, job) join {{schema}}.transfer t on t.id = n.id
    where t.account_id <> all (v_paused);
  end if;

  if exists (select 1 from {{schema}}.unauthorized_account) then
    v_deferred := {{schema}}.defer_unauthorized(p_ids, p_jobs);
  end if;

  if exists (select 1 from {{schema}}.account_throttle)
    or exists (select 1 from {{schema}}.account f where f.rate_per_second is not null or f.concurrency is not null) then
    v_deferred := v_deferred || {{schema}}.enforce_limits(p_ids, p_jobs, v_deferred);
  end if;

  if v_inline then
    perform {{schema}}.resolve_counterparties(p_ids);
  end if;
  v_deferred := v_deferred || {{schema}}.charge_claimed(p_ids, p_jobs, v_deferred);

  v_claimable := array(
    select t.id from {{schema}}.transfer t
    where t.id = any (p_ids) and t.id <> all (v_deferred) and t.stage in ('queued', 'submitting', 'awaiting_funds')
      and t.account_id <> all (v_paused)
    order by t.id);
  return query
  select k.*, coalesce(r.refusals, 0), case when v_inline then {{schema}}.registration_of(k.id) end,
    coalesce(o.refusals + o.passed::integer, 0)
  from {{schema}}.begin_attempts(v_claimable, p_worker, p_client) k
  left join {{schema}}.unauthorized_account r on r.account_id = (
    select {{schema}}.gateway_account(t.gateway, t.account_id) from {{schema}}.transfer t where t.id = k.id)
  left join {{schema}}.unauthorized_transfer o on o.transfer_id = k.id;
end
$$;
