-- Claims transfers of the outbox to these gateways that are ready, in the order of queue_fetch(), for one attempt each, and writes the attempts before any
-- byte leaves. One transaction: one commit stands between the outbox and a request.
--
-- A host that cancels holds the transfer and waits for its row in the outbox. So this waits for no lock while it holds those: it skips locked
-- transfers, and transfers that the claim may have to defer, to limit or to register. For those it returns the job alone, and the
-- worker claims them with claim_for_gateways(). What is used of limits on sums is locked for milliseconds, by claims alone.
create or replace function {{schema}}.fetch_for_gateways(
  p_limit integer, p_worker text, p_client text, p_turn text, p_gateways text[]
)
returns table (
  job uuid, retry_count integer, id text, account_id text, idempotency_key text, request jsonb, attempt integer, reason text,
  unknown_since text, expires_at text, claimed_at text, unknown_attempt integer, released boolean, client text,
  environment text, refusals integer, registration jsonb, own_refusals integer, turn text, gateway text
) language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_jobs uuid[];
  v_retry_counts integer[];
  v_ids text[];
  v_free text[];
  v_turn text;
begin
  -- Most fetches find nothing. One with a time of the next walk in its turn reads no more than what is new: queue_fetch() knows why.
  if {{schema}}.is_all_stopped(p_gateways) or strpos(coalesce(p_turn, ''), e'\n') = 0 and {{schema}}.queue_is_empty() then
    return;
  end if;

  select f.jobs, f.retry_counts, f.turn into v_jobs, v_retry_counts, v_turn from {{schema}}.queue_fetch(p_limit, p_turn, p_gateways) f;
  if cardinality(v_jobs) = 0 then
    return;
  end if;

  v_ids := {{schema}}.transfers_of_jobs(v_jobs);
  v_free := array(
    select t.id from {{schema}}.transfer t
    where t.id = any (v_ids) and t.stage in ('queued', 'submitting', 'awaiting_funds')
      and t.request #> '{destination,addressId}' is not null
      and (t.not_before is null or t.not_before <= clock_timestamp())
      and not exists (select 1 from {{schema}}.account f
        where f.account_id = t.account_id and (f.paused or f.rate_per_second is not null or f.concurrency is not null))
      and t.gateway = any (p_gateways)
      and not exists (select 1 from {{schema}}.stop s where s.scope = 'account' and s.name = t.account_id)
      and not exists (select 1 from {{schema}}.stop s where s.scope = 'gateway' and s.name = t.gateway)
      and (t.batch_id is null or not exists (select 1 from {{schema}}.paused_batch b where b.batch_id = t.batch_id))
      and not exists (select 1 from {{schema}}.account_throttle p where p.account_id = {{schema}}.gateway_account(t.gateway, t.account_id))
      and not exists (select 1 from {{schema}}.unauthorized_account r where r.account_id = {{schema}}.gateway_account(t.gateway, t.account_id))
      and not exists (select 1 from {{schema}}.unauthorized_transfer o where o.transfer_id = t.id)
    for no key update of t skip locked);
  v_free := {{schema}}.charge_fetched(v_free, v_ids, v_jobs);
  -- Two lists of the same length; loops would go through one for each of the other. The function's own setting is back at its end.
  perform set_config('enable_hashjoin', 'on', true);
  return query
  select n.job, n.retry_count, k.*, 0, null::jsonb, 0, v_turn, case
    when cardinality(p_gateways) > 1 then (select g.gateway from {{schema}}.transfer g where g.id = k.id)
    when k.id is not null then p_gateways[1] end
  from unnest(v_jobs, v_retry_counts, v_ids) as n (job, retry_count, transfer_id)
  left join {{schema}}.begin_attempts(v_free, p_worker, p_client) k on k.id = n.transfer_id;
end
$$;
