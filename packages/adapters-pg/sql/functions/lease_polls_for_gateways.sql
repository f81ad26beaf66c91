-- Leases transfers that were submitted to these gateways and are due for a poll, and so keeps other workers away from them. No index serves a comparison
-- with clock_timestamp(), which changes for every row. Skips accounts whose list a worker is reading, since that reading observes
-- their transfers too, and the accounts in `p_except`, which the worker is busy with. From one gateway to the next, so that what is due at a
-- gateway that no worker has is not read. The plan is held to indexes: it may be made while the tables are empty.
create or replace function {{schema}}.lease_polls_for_gateways(p_limit integer, p_lease_ms integer, p_except text[], p_gateways text[])
returns table (id text, account_id text, remote_id text, status text, transfer_type text, polls integer, gateway text) language sql
set lock_timeout = '250ms' set enable_seqscan = off set enable_bitmapscan = off as $$
  with due as (
    select d.id from unnest(p_gateways) as g (name)
    cross join lateral (
      select t.id, t.next_poll_at from {{schema}}.transfer t
      where t.gateway = g.name and t.next_poll_at <= statement_timestamp() and t.stage = 'submitted'
        and {{schema}}.gateway_account(t.gateway, t.account_id) <> all (p_except)
        and not exists (
          select 1 from {{schema}}.list_reading r where r.account_id = {{schema}}.gateway_account(t.gateway, t.account_id) and r.leased_until > clock_timestamp())
      order by t.next_poll_at limit p_limit for no key update skip locked
    ) d
    order by d.next_poll_at limit p_limit
  )
  update {{schema}}.transfer t
  set next_poll_at = clock_timestamp() + p_lease_ms * interval '1 millisecond', polls = t.polls + 1
  from due where t.id = due.id
  returning t.id, t.account_id, t.remote_id, t.status, t.request -> 'destination' ->> 'transferType', t.polls, t.gateway
$$;
