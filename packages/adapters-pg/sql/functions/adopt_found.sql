-- Adopts found transfers that certainly have no row here, and answers as adopt_noted() does.
--
-- It never adopts the result of a request from here: either an automation made the transfer, or every request that may have left
-- before the transfer was seen has an answer. A request leaves after its claim has committed, and the service shows its transfer
-- after that. The row in `found_transfer` commits later still, so the one statement that decides sees the claim, or its outcome.
-- This must run in its own transaction: a transaction older than the row in `found_transfer` would see neither.
create or replace function {{schema}}.adopt_found(p_limit integer)
returns table (id text, account_id text, remote_id text, problem text) language plpgsql as $$
#variable_conflict use_column
declare
  v_account_ids text[];
  v_remote_ids text[];
begin
  -- After a restore the service has transfers whose rows here are unsent: a reconciliation matches them first.
  if exists (select 1 from {{schema}}.known_database h where h.fenced_since is not null) then
    return;
  end if;
  with known as (
    select f.account_id, f.remote_id, t.id from {{schema}}.found_transfer f
    join {{schema}}.transfer t on t.remote_id = f.remote_id and t.account_id = {{schema}}.account_of(f.account_id) and t.gateway = {{schema}}.gateway_of(f.account_id)
    for update of f skip locked for no key update of t skip locked
  ), met as (
    delete from {{schema}}.found_transfer f using known k
    where f.account_id = k.account_id and f.remote_id = k.remote_id
  )
  -- The next poll reads any status that was reported in between. This waits for no lock: the transaction that holds such a transfer
  -- may be about to record what this has just removed.
  update {{schema}}.transfer t set next_poll_at = clock_timestamp() from known k where t.id = k.id and t.stage = 'submitted';

  with uncertain as materialized (
    -- Per account, when the first request left whose outcome is not certain. Read once, not per found transfer.
    -- For requests from before a restore, the age of the doubt says when they left; attempts do not.
    select {{schema}}.gateway_account(t.gateway, t.account_id) as account_id, min(case when t.reason = 'reconcile' then t.created_at
      else least(coalesce(a.claimed_at, t.created_at), t.unknown_since) end) as left_at from {{schema}}.transfer t
    left join {{schema}}.attempt a on a.transfer_id = t.id and a.attempt = 1
    where t.remote_id is null and t.status = 'pending'
      and t.stage in ('queued', 'submitting', 'awaiting_funds', 'blocked') and t.attempt > 0
      and (t.stage = 'submitting' or t.unknown_since is not null or t.reason in ('rate_limited', 'reconcile')
        or t.reason = any ({{schema}}.obstacles()))
    group by 1
    union all
    -- What may be a transfer that has ended here is adopted once a person has decided.
    select {{schema}}.gateway_account(t.gateway, t.account_id), t.created_at from {{schema}}.attempt a join {{schema}}.transfer t on t.id = a.transfer_id
    where a.unmatched and {{schema}}.ended_in_doubt(t)
  ), open as materialized (
    -- Each may have taken effect within a day, whatever a later attempt was answered: until another attempt has found out, or, where the
    -- transfer has ended, for as long as a request is on its way.
    select {{schema}}.gateway_account(t.gateway, t.account_id) as account_id, a.claimed_at from {{schema}}.transfer t join {{schema}}.attempt a on a.transfer_id = t.id
    where t.remote_id is null and t.status = 'pending' and t.attempt > 0
      and (a.answered_at is null and a.step is null or {{schema}}.may_still_arrive(a, t))
    union all
    select {{schema}}.gateway_account(t.gateway, t.account_id), a.claimed_at from {{schema}}.attempt a join {{schema}}.transfer t on t.id = a.transfer_id
    where {{schema}}.left_just_now(a) and a.answered_at is null and a.step is null and t.remote_id is null
  ), ready as (
    select f.account_id, f.remote_id from {{schema}}.found_transfer f
    where f.problem is null and {{schema}}.is_here(f.account_id)
      and not exists (select 1 from {{schema}}.transfer t where t.remote_id = f.remote_id
        and t.account_id = {{schema}}.account_of(f.account_id) and t.gateway = {{schema}}.gateway_of(f.account_id))
      -- Accepted for a transfer here that has not got that id.
      and not exists (select 1 from {{schema}}.logged_owners(f.account_id, f.remote_id))
      and (f.automated or not exists (
        select 1 from open o
        where o.account_id = f.account_id
          and f.seen_at between o.claimed_at - interval '35 seconds' and o.claimed_at + interval '24 hours') and not exists (
        -- A margin, for a server's clock that was set back by less than what the watch of the clock notices. A time in the future
        -- shows that it was set back by more; then nothing is certain until the watch has moved it.
        select 1 from uncertain u
        where u.account_id = f.account_id and (u.left_at < f.seen_at + interval '35 seconds' or u.left_at > clock_timestamp())))
    order by 1, 2 limit p_limit for update skip locked
  )
  select array_agg(r.account_id), array_agg(r.remote_id) into v_account_ids, v_remote_ids from ready r;
  if v_account_ids is not null then
    return query select a.id, a.account_id, a.remote_id, a.problem from {{schema}}.adopt_noted(v_account_ids, v_remote_ids) a;
  end if;
end
$$;
