-- Locks the throttles of accounts, in order. Workers hold one for milliseconds, so this waits for it; but one that stands still holds
-- it for as long as the server keeps its session, and must not hold up other accounts. Transfers of an account whose throttle it did
-- not get come again soon; returns them.
create or replace function {{schema}}.lock_throttles(p_accounts text[], p_ids text[], p_jobs uuid[], p_without text[])
returns text[] language plpgsql as $$
declare
  v_free text[];
  v_busy text[];
begin
  begin
    insert into {{schema}}.account_throttle (account_id) select a.id from unnest(p_accounts) as a (id) order by a.id on conflict do nothing;
    perform 1 from {{schema}}.account_throttle p where p.account_id = any (p_accounts) order by p.account_id for update;
    return '{}';
  exception when lock_not_available then
    null;
  end;
  v_free := array(
    select p.account_id from {{schema}}.account_throttle p
    where p.account_id = any (p_accounts) order by p.account_id for update skip locked);
  v_busy := array(
    select t.id from {{schema}}.transfer t
    where t.id = any (p_ids) and t.id <> all (p_without) and {{schema}}.gateway_account(t.gateway, t.account_id) = any (p_accounts)
      and {{schema}}.gateway_account(t.gateway, t.account_id) <> all (v_free));
  perform {{schema}}.queue_defer(array_agg(n.job), array_agg(clock_timestamp() + interval '5 seconds' * (1 + random())))
  from unnest(p_ids, p_jobs) as n (id, job) where n.id = any (v_busy);
  return v_busy;
end
$$;
