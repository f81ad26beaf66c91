-- Each step that the statement has written to, with all of its lines.
create or replace function {{schema}}.ledger_check_balanced() returns trigger language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_wrong record;
begin
  select e.posting_id, e.step, e.value_type into v_wrong
    from (select distinct a.posting_id, a.step from added a) w
    join {{schema}}.ledger_entry e on e.posting_id = w.posting_id and e.step = w.step
   group by e.posting_id, e.step, e.value_type
  having sum(e.amount) <> 0
   limit 1;
  if found then
    raise exception 'The % of % does not sum to zero in %.', v_wrong.step, v_wrong.posting_id, v_wrong.value_type
      using errcode = 'check_violation', constraint = 'ledger_entry_balanced';
  end if;
  return null;
end
$$;
