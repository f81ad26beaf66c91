-- The lines that one statement has written sum to zero in each step, so all lines of a step do.
create or replace function {{schema}}.ledger_check_balanced() returns trigger language plpgsql as $$
declare
  v_wrong record;
begin
  select a.posting_id, a.step, a.value_type into v_wrong
    from added a
   group by a.posting_id, a.step, a.value_type
  having sum(a.amount) <> 0
   limit 1;
  if found then
    raise exception 'The % of % does not sum to zero in %.', v_wrong.step, v_wrong.posting_id, v_wrong.value_type
      using errcode = 'check_violation', constraint = 'ledger_entry_balanced';
  end if;
  return null;
end
$$;
