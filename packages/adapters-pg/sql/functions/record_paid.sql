-- Writes what was paid of transfers, where the service says another amount than is known here, and when it said so last, where it says the same amount again. A
-- report that is older than the newest one says nothing; of a transfer without any, that is when it was complete, as the service says. A time far in the future is
-- that of a clock which was wrong, and makes no report old. The caller has locked the transfers, and has compared the currency. Returns the ids of those of which
-- another amount is known now.
create or replace function {{schema}}.record_paid(p_paid jsonb) returns setof text language sql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  with n as materialized (
    select * from jsonb_to_recordset(p_paid) as n (id text, amount jsonb, changed_at timestamptz)
  ), placed as materialized (
    -- A plan that is kept from when the table was small would read all of it: one by one, and then by their places.
    select n.*, l.place, {{schema}}.amount_of(n.amount) is distinct from l.amount as is_news,
      case when l.said_at < clock_timestamp() + interval '5 minutes' then l.said_at end as said_at
    from n cross join lateral (
      select t.ctid as place, {{schema}}.amount_of(coalesce(t.paid -> 'amount', t.request -> 'amount')) as amount,
        coalesce((t.paid ->> 'changedAt')::timestamptz, case when t.status = 'complete' then t.reached_at end) as said_at
      from {{schema}}.transfer t where t.id = n.id offset 0) l
  ), written as (
    update {{schema}}.transfer t
    set paid = case when p.is_news
          then jsonb_build_object('amount', p.amount, 'changedAt', {{schema}}.iso(p.changed_at), 'seenAt', {{schema}}.iso(clock_timestamp()))
          else coalesce(t.paid, '{}') || jsonb_build_object('changedAt', {{schema}}.iso(p.changed_at)) end,
        updated_at = case when p.is_news then clock_timestamp() else t.updated_at end
    from placed p
    where t.ctid = p.place and case when p.is_news then (p.changed_at < p.said_at) is not true
      else p.changed_at < clock_timestamp() + interval '5 minutes' and (p.changed_at <= p.said_at) is not true end
    returning t.id, p.is_news
  )
  select w.id from written w where w.is_news
$$;
