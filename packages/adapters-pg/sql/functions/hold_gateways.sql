-- Lets transfers wait whose gateway is stopped, or has become one that is none of these. They come again after some seconds, and less and
-- less often up to five minutes; the end of the stop makes them due. So does whatever else their accounts have ready at a stopped gateway.
-- Returns the others and their jobs.
create or replace function {{schema}}.hold_gateways(
  p_ids text[], p_jobs uuid[], p_retry_counts integer[], p_gateways text[], out ids text[], out jobs uuid[]
) language plpgsql as $$
declare
  v_held_jobs uuid[];
  v_held text[];
  v_due_at timestamptz[];
begin
  select coalesce(array_agg(n.id) filter (where not n.is_held), '{}'), coalesce(array_agg(n.job) filter (where not n.is_held), '{}'),
    array_agg(n.id) filter (where n.is_held), array_agg(n.job) filter (where n.is_held),
    array_agg(clock_timestamp() + least(300, 5 * power(2, least(n.retry_count, 10))) * (0.75 + random() / 2) * interval '1 second')
      filter (where n.is_held)
  into ids, jobs, v_held, v_held_jobs, v_due_at
  from (
    select i.id, i.job, i.retry_count, coalesce(t.gateway <> all (p_gateways) or exists (
      select 1 from {{schema}}.stop s where s.scope = 'gateway' and s.name = t.gateway), false) as is_held
    from unnest(p_ids, p_jobs, p_retry_counts) as i (id, job, retry_count)
    left join lateral (select t.gateway from {{schema}}.transfer t where t.id = i.id offset 0) t on true
  ) n;
  if v_held is null then
    return;
  end if;
  -- What it waits for otherwise says more. A host may have locked it, and then it comes again all the same.
  update {{schema}}.transfer t set reason = 'gateway_held', updated_at = clock_timestamp()
  where t.id in (
    select f.id from {{schema}}.transfer f where f.id = any (v_held) and f.stage = 'queued' and f.reason is null
    order by f.id for no key update skip locked);
  perform {{schema}}.queue_defer_unlocked(v_held_jobs, v_due_at);
  perform {{schema}}.hold_accounts(array(
    select distinct {{schema}}.gateway_account(t.gateway, t.account_id) from {{schema}}.transfer t
    where t.id = any (v_held) and exists (select 1 from {{schema}}.stop s where s.scope = 'gateway' and s.name = t.gateway)));
end
$$;
