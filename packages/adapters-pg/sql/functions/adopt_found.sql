-- Adopts what nothing here stands for, for certain, and answers as adopt_noted() does.
--
-- What became of a request from here is never taken for somebody else's: an automation made it, or every request that may have
-- left before it was seen has an answer. A request leaves after its claim has committed, and what it makes is seen after that;
-- the row under `found_transfer` committed later still, so the one statement that decides sees the claim, or what came of it.
-- It must run in a transaction of its own: in one that is older than the sight it would see neither.
create or replace function {{schema}}.adopt_found(p_limit integer)
returns table (id text, account_id text, remote_id text, problem text) language plpgsql as $$
#variable_conflict use_column
declare
  v_account_ids text[];
  v_remote_ids text[];
begin
  -- After a restore the service has what was sent from rows that are here as if it had not been: a reconciliation tells first.
  if exists (select 1 from {{schema}}.home h where h.fenced_since is not null) then
    return;
  end if;
  with known as (
    select f.account_id, f.remote_id, t.id from {{schema}}.found_transfer f
    join {{schema}}.transfer t on t.remote_id = f.remote_id and t.account_id = f.account_id
    for update of f skip locked for no key update of t skip locked
  ), met as (
    delete from {{schema}}.found_transfer f using known k
    where f.account_id = k.account_id and f.remote_id = k.remote_id
  )
  -- Whatever was told of it meanwhile, the next look finds out. Nobody is waited for: whoever has such a transfer may be about to
  -- note what this has just removed.
  update {{schema}}.transfer t set follow_at = clock_timestamp() from known k where t.id = k.id and t.stage = 'submitted';

  with uncertain as materialized (
    -- Per account, when the first request left whose outcome is not certain. Read once, not for each of what was found.
    -- What left before a restore is known by the age of its doubt, not by attempts.
    select t.account_id, min(case when t.reason = 'reconcile' then t.created_at
      else least(coalesce(a.claimed_at, t.created_at), t.unknown_since) end) as left_at from {{schema}}.transfer t
    left join {{schema}}.attempt a on a.transfer_id = t.id and a.attempt = 1
    where t.remote_id is null and t.status = 'pending'
      and t.stage in ('queued', 'submitting', 'awaiting_funds', 'blocked') and t.attempt > 0
      and (t.stage = 'submitting' or t.unknown_since is not null or t.reason in ('rate_limited', 'reconcile'))
    group by t.account_id
  ), ready as (
    select f.account_id, f.remote_id from {{schema}}.found_transfer f
    where f.problem is null
      and not exists (select 1 from {{schema}}.transfer t where t.remote_id = f.remote_id and t.account_id = f.account_id)
      and (f.automated or not exists (
        -- A margin, for a server's clock that was set back.
        select 1 from uncertain u where u.account_id = f.account_id and u.left_at < f.seen_at + interval '5 seconds'))
    order by 1, 2 limit p_limit for update skip locked
  )
  select array_agg(r.account_id), array_agg(r.remote_id) into v_account_ids, v_remote_ids from ready r;
  if v_account_ids is not null then
    return query select a.id, a.account_id, a.remote_id, a.problem from {{schema}}.adopt_noted(v_account_ids, v_remote_ids) a;
  end if;
end
$$;
