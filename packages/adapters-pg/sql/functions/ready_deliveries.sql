-- Ready events of a subscription behind a place, by account: those of at most `p_accounts` accounts, at most `p_events` of each, `p_most` in all. A row without a
-- transfer is behind them when there are more accounts. The accounts are found one by one in the index, so an account with many events costs the
-- others nothing. Each account and type has its own index scan: events for other processes are never read.
create or replace function {{schema}}.ready_deliveries(
  p_subscription text, p_except text[], p_account text, p_due_at timestamptz, p_transfer text, p_sequence integer, p_types text[],
  p_accounts integer, p_events integer, p_most integer
) returns table (account_id text, due_at timestamptz, transfer_id text, sequence integer) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
begin
  return query
  with recursive accounts (account_id, step) as (
    select p_account collate "C", 0
    union all
    select n.account_id, a.step + 1 from accounts a
    cross join lateral (
      select min(y.account_id) as account_id from unnest(p_types) as t (type) cross join lateral (
        select x.account_id from {{schema}}.delivery x
        where x.subscription = p_subscription and x.type = t.type and x.account_id > a.account_id and x.ready and not x.dead
        order by x.account_id limit 1) y) n
    where a.step < p_accounts and n.account_id is not null
  )
  select r.* from (
    select c.account_id, c.due_at, c.transfer_id, c.sequence from accounts a cross join lateral (
      select y.* from unnest(p_types) as t (type) cross join lateral (
        select x.account_id, x.due_at, x.transfer_id, x.sequence from {{schema}}.delivery x
        where x.subscription = p_subscription and x.type = t.type and x.account_id = a.account_id and x.ready and not x.dead
          and (x.due_at, x.transfer_id, x.sequence) > (
            case when a.step = 0 then p_due_at else '-infinity' end, case when a.step = 0 then p_transfer else '' end,
            case when a.step = 0 then p_sequence else 0 end)
        order by x.due_at, x.transfer_id, x.sequence limit p_events) y
      order by y.due_at, y.transfer_id, y.sequence limit p_events) c
    where a.account_id <> all (p_except)
    union all
    select a.account_id, 'infinity', '', 0 from accounts a where a.step = p_accounts
  ) r limit p_most;
end
$$;
