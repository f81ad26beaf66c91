-- Writes what reports of the service say that came back of transfers, each return once, and decides about it. `p_reports` has, for each
-- transfer, all of its returns. The caller has locked the transfers. Returns one row for each return that was decided about; `problem`
-- says why one is held.
create or replace function {{schema}}.record_returns(p_reports jsonb)
returns table (id text, code text, problem text) language plpgsql as $$
#variable_conflict use_column
begin
  with reported as (
    select n.id, r.* from jsonb_to_recordset(p_reports) as n (id text, returns jsonb)
    cross join lateral jsonb_to_recordset(nullif(n.returns, 'null'::jsonb)) as r (
      identity text, code text, amount numeric, currency text, occurred_at timestamptz)
  ), withdrawn as (
    -- The service has corrected what was held.
    delete from {{schema}}.transfer_return h
    where h.problem is not null and h.resolved_at is null and h.transfer_id in (select n.id from jsonb_to_recordset(p_reports) as n (id text))
      and not exists (select 1 from reported r where r.id = h.transfer_id and r.identity = h.identity)
  )
  insert into {{schema}}.transfer_return (transfer_id, identity, code, amount, currency, occurred_at)
  select r.id, r.identity, r.code, r.amount, r.currency, r.occurred_at from reported r order by r.id, r.identity
  on conflict do nothing;
  return query select a.id, a.code, a.problem from {{schema}}.apply_returns(array(
    select n.id from jsonb_to_recordset(p_reports) as n (id text))) a;
end
$$;
