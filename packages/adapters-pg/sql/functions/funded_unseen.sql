-- The same for those that missed their funds: the refusal and the arrival were written at once, so neither saw the other.
create or replace function {{schema}}.funded_unseen() returns setof text language sql as $$
  -- From the few recent arrivals to those that wait for them, never the other way: both histories are long.
  with arrived as materialized (
    select e.transfer_id, e.occurred_at from {{schema}}.event e
    where e.occurred_at > statement_timestamp() - interval '15 seconds' and e.type = 'transfer.completed'
  ), inbound as materialized (
    select d.account_id, d.gateway, d.request, r.occurred_at from arrived r
    cross join lateral (select d.account_id, d.gateway, d.request from {{schema}}.transfer d where d.id = r.transfer_id offset 0) d
    where exists (select 1 from {{schema}}.transfer w where w.account_id = d.account_id and w.reason = 'insufficient_balance')
  ), poor as materialized (
    select t.id, t.account_id, t.gateway, t.request, t.attempt from {{schema}}.transfer t
    where t.reason = 'insufficient_balance' and t.stage = 'awaiting_funds'
      and t.account_id in (select i.account_id from inbound i)
  ), missed as materialized (
    select p.id from poor p
    cross join lateral (
      select a.claimed_at from {{schema}}.attempt a where a.transfer_id = p.id and a.attempt = p.attempt offset 0) a
    where exists (
      select 1 from inbound i
      where i.account_id = p.account_id and i.gateway = p.gateway and i.occurred_at > a.claimed_at and {{schema}}.brings_funds(i.request, p.request))
    order by p.id limit 5000
  )
  select t.id from {{schema}}.transfer t
  where t.id = any (array(select m.id from missed m)) and t.reason = 'insufficient_balance' and t.stage = 'awaiting_funds'
  order by t.id for no key update skip locked
$$;
