-- Locks and returns the transfers that await funds which one of these transfers has brought.
create or replace function {{schema}}.funded_by(p_ids text[]) returns setof text language sql as $$
  select t.id from {{schema}}.transfer t
  where t.reason = 'insufficient_balance' and t.stage = 'awaiting_funds'
    and exists (
      select 1 from {{schema}}.transfer d
      where d.id = any (p_ids) and d.status = 'complete' and d.account_id = t.account_id and d.gateway = t.gateway
        and {{schema}}.brings_funds(d.request, t.request))
  order by t.id for no key update skip locked
$$;
