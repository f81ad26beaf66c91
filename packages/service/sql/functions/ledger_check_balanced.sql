create or replace function {{schema}}.ledger_check_balanced() returns trigger language plpgsql as $$
begin
  if exists (
    select from {{schema}}.ledger_entry
     where posting_id = new.posting_id and step = new.step and value_type = new.value_type
    having sum(amount) <> 0
  ) then
    raise exception 'The % of % does not sum to zero in %.', new.step, new.posting_id, new.value_type
      using errcode = 'check_violation', constraint = 'ledger_entry_balanced';
  end if;
  return null;
end
$$;
