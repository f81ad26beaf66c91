-- Whether a transfer was credited the wire that it has, by its id: it is complete, or a fact says so that the engine has yet to deliver, and not all of that
-- has come back. A deposit is credited from the start, until it went back. False for a deposit that has no transfer.
create or replace function {{schema}}.arrival_is_credited(p_transfer_id text) returns boolean language plpgsql stable
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_transfer {{schema}}.transfer;
  v_back numeric;
begin
  select * into v_transfer from {{schema}}.transfer t where t.id = p_transfer_id;
  if v_transfer.status = 'complete' then
    select coalesce(sum(r.amount_value), 0) into v_back from {{schema}}.transfer_return r where r.transfer_id = p_transfer_id;
    v_back := v_back - coalesce((
      select sum(f.amount_value) from {{schema}}.rail_fact f
       where f.transfer_id = p_transfer_id and f.kind = 'settled' and f.resolution = 'applied'
         and exists (select from {{schema}}.ledger_entry l where l.posting_id = f.id and l.step = 'post')
    ), 0);
    return v_back < coalesce((v_transfer.quote #>> '{destinationAmount,value}')::numeric, v_transfer.amount_value);
  end if;
  if v_transfer.automation_id is not null then
    return {{schema}}.deposit_taken_back(p_transfer_id) < v_transfer.amount_value;
  end if;
  return exists (
    select from {{schema}}.rail_fact f where f.transfer_id = p_transfer_id and f.kind = 'settled' and f.applied_at is not null
  );
end
$$;
