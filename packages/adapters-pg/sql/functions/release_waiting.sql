-- Releases the oldest waiting transfers of the next accounts behind one, as many as these may send now; the claim counts them. Returns
-- these accounts, how many were released, whether they have a concurrency limit, and whether more may wait. Claims wait for the throttles
-- that this locks, so it goes on with a few accounts at a time. The plans are kept, and held to indexes: an account may have very many
-- that wait.
create or replace function {{schema}}.release_waiting(p_limit integer, p_accounts integer, p_after text)
returns table (account_id text, released integer, bounded boolean, waits boolean) language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_account record;
  v_permits integer;
  v_ids text[];
begin
  for v_account in
    select p.account_id, f.concurrency is not null as bounded from {{schema}}.account_throttle p
    left join {{schema}}.account f on f.account_id = {{schema}}.account_of(p.account_id)
    where p.waiting and f.paused is not true and p.account_id > p_after
      -- A claim would hold them again without a permit, and the next call would release them again.
      and not exists (select 1 from {{schema}}.stop s where s.scope = 'gateway' and s.name = {{schema}}.gateway_of(p.account_id))
    order by p.account_id limit p_accounts for update of p skip locked
  loop
    account_id := v_account.account_id;
    bounded := v_account.bounded;
    released := 0;
    waits := true;
    select least(coalesce(r.permits, p_limit), p_limit) into v_permits from {{schema}}.available_permits(v_account.account_id, '{}') r;
    if v_permits > 0 then
      -- One that a host has locked cannot be sent now, nor one that has lost its job: those behind it do not wait for it.
      select array_agg(w.id) into v_ids from (
        select t.id from {{schema}}.transfer t
        where t.account_id = {{schema}}.account_of(v_account.account_id) and t.gateway = {{schema}}.gateway_of(v_account.account_id) and t.reason = 'account_limited' and t.stage = 'queued'
          and exists (select from {{schema}}.queue_jobs() q where q.job = {{schema}}.job_id(t.id) and q.is_waiting)
        order by t.id limit v_permits for no key update skip locked
      ) w;
      if v_ids is null and not exists (
        select from {{schema}}.transfer t
        where t.account_id = {{schema}}.account_of(v_account.account_id) and t.gateway = {{schema}}.gateway_of(v_account.account_id) and t.reason = 'account_limited' and t.stage = 'queued'
      ) then
        update {{schema}}.account_throttle p set waiting = false where p.account_id = v_account.account_id;
        waits := false;
      end if;
      -- A host may have locked some of these jobs, in an order of its own; the next call releases them.
      released := coalesce((
        select {{schema}}.queue_wake_unlocked(array_agg({{schema}}.job_id(t.id)), array_agg(t.not_before))
        from unnest(v_ids) as i (id) join {{schema}}.transfer t on t.id = i.id), 0);
    end if;
    return next;
  end loop;
end
$$;
