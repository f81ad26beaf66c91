-- Posts one step that is not a hold. A line is {kind, account, address, value, rail, bucket, amount}; the amount is signed.
-- Answers 'applied' or 'repeated' (this step of this posting is there already; nothing changes). Rows are locked in one order,
-- so postings never deadlock.
create or replace function {{schema}}.ledger_apply(p_posting_id text, p_step text, p_lines jsonb) returns text
language plpgsql as $$
declare
  v_change record;
  v_wanted int := jsonb_array_length(p_lines);
  v_written int;
begin
  if v_wanted = 0 then
    return 'applied';
  end if;
  if exists (select from {{schema}}.ledger_entry where posting_id = p_posting_id and step = p_step) then
    return 'repeated';
  end if;

  for v_change in
    select l.account, l.address, l.value, l.rail,
           coalesce(sum(l.amount) filter (where l.bucket = 'available'), 0) as available,
           coalesce(sum(l.amount) filter (where l.bucket = 'held'), 0) as held
      from jsonb_to_recordset(p_lines)
           as l(kind text, account text, address text, value text, rail text, bucket text, amount numeric)
     where l.kind = 'custodial'
     group by l.account, l.address, l.value, l.rail
     order by l.address, l.value, l.rail
  loop
    update {{schema}}.ledger_account a
       set available = a.available + v_change.available, held = a.held + v_change.held
     where a.kind = 'custodial' and a.address_id = v_change.address and a.value_type = v_change.value
       and a.transfer_type = v_change.rail;
    if not found then
      insert into {{schema}}.ledger_account as a
             (kind, account_id, address_id, value_type, transfer_type, available, held)
      values ('custodial', v_change.account, v_change.address, v_change.value, v_change.rail,
              v_change.available, v_change.held)
      on conflict (kind, address_id, value_type, transfer_type) do update
         set available = a.available + excluded.available, held = a.held + excluded.held;
    end if;
  end loop;

  loop
    insert into {{schema}}.ledger_entry (posting_id, step, line, ledger_account_id, bucket, value_type, amount)
    select p_posting_id, p_step, l.line, a.id, l.bucket, l.value, l.amount
      from rows from (
             jsonb_to_recordset(p_lines)
               as (kind text, address text, value text, rail text, bucket text, amount numeric)
           ) with ordinality as l(kind, address, value, rail, bucket, amount, line)
      join {{schema}}.ledger_account a
        on a.kind = l.kind and a.address_id = l.address and a.value_type = l.value and a.transfer_type = l.rail
    on conflict (posting_id, step, line) do nothing;
    get diagnostics v_written = row_count;
    exit when v_written = v_wanted;

    -- A system account is seen for the first time.
    insert into {{schema}}.ledger_account (kind, value_type, transfer_type)
    select distinct l.kind, l.value, l.rail
      from jsonb_to_recordset(p_lines) as l(kind text, value text, rail text)
     where l.kind <> 'custodial'
    on conflict do nothing;
    v_wanted := v_wanted - v_written;
  end loop;
  return 'applied';
end
$$;
