-- Writes what reports of the service say that came back of transfers, each return once, and decides about it. `p_reports` has, for each
-- transfer, all of its returns. Of a quoted transfer two amounts came back; the one in the value type of the transfer's amount is kept. The
-- caller has locked the transfers. Returns one row for each return that was decided about; `problem`
-- says why one is held.
create or replace function {{schema}}.record_returns(p_reports jsonb)
returns table (id text, code text, problem text) language plpgsql as $$
#variable_conflict use_column
declare
  v_ids text[] := array(select n.id from jsonb_to_recordset(p_reports) as n (id text));
  v_corrected text[];
begin
  with reported as (
    select n.id, r.* from jsonb_to_recordset(p_reports) as n (id text, returns jsonb)
    cross join lateral jsonb_to_recordset(nullif(n.returns, 'null'::jsonb)) as r (
      identity text, code text, amount numeric, currency text, source_amount numeric, source_currency text, occurred_at timestamptz)
  ), withdrawn as (
    -- The service has corrected what is held or waits.
    delete from {{schema}}.transfer_return h
    where h.transfer_id = any (v_ids) and h.sequence is null and h.resolved_at is null
      and not exists (select 1 from reported r where r.id = h.transfer_id and r.identity = h.identity)
  ), written as (
    insert into {{schema}}.transfer_return (transfer_id, identity, code, amount, currency, occurred_at)
    select r.id, r.identity, r.code, case when t.id is null then r.amount else r.source_amount end,
      case when t.id is null then r.currency else r.source_currency end, r.occurred_at
    from reported r
    left join {{schema}}.transfer t on t.id = r.id and r.currency is distinct from r.source_currency
      and r.source_currency = t.request -> 'amount' ->> 'currency'
    order by r.id, r.identity
    on conflict do nothing
  )
  -- Transfers of which the service shows a return no more that a person has decided about: another one may be its correction.
  select array_agg(distinct d.transfer_id) into v_corrected from {{schema}}.transfer_return d
  where d.transfer_id = any (v_ids) and d.resolved_at is not null
    and not exists (select 1 from reported r where r.id = d.transfer_id and r.identity = d.identity);

  update {{schema}}.transfer_return r set problem = null
  where r.transfer_id = any (v_ids) and r.problem = 'decided_before' and r.resolved_at is null
    and r.transfer_id <> all (coalesce(v_corrected, '{}'));
  return query
  update {{schema}}.transfer_return r set problem = 'decided_before'
  where r.transfer_id = any (v_corrected) and r.sequence is null and r.problem is null
  returning r.transfer_id, r.code, r.problem;
  return query select a.id, a.code, a.problem from {{schema}}.apply_returns(v_ids) a;
end
$$;
