-- How much of a deposit went back after its mint had failed, or was canceled: the whole, or the parts that a person has applied. 0 for every other transfer.
create or replace function {{schema}}.deposit_taken_back(p_transfer_id text) returns numeric language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_amount numeric;
begin
  select t.amount_value into v_amount from {{schema}}.transfer t
   where t.id = p_transfer_id and t.automation_id is not null and t.status in ('failed', 'canceled');
  if v_amount is null then
    return 0;
  end if;
  if exists (select from {{schema}}.ledger_entry l where l.posting_id = p_transfer_id and l.step = 'reverse') then
    return v_amount;
  end if;
  return coalesce((
    select sum(o.amount_value) from {{schema}}.rail_fact o
     where o.transfer_id = p_transfer_id and o.kind = 'returned' and o.applied_at is not null
       and exists (select from {{schema}}.ledger_entry l where l.posting_id = o.id and l.step = 'reverse')
  ), 0);
end
$$;
