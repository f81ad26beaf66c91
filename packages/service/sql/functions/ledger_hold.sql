-- Holds money of one wallet: the two lines take an amount from what is available and add it to what is held. Returns false, and
-- changes nothing, when the wallet does not cover it.
create or replace function {{schema}}.ledger_hold(p_posting_id text, p_lines jsonb) returns boolean language plpgsql as $$
begin
  with wallet as (
    update {{schema}}.ledger_account a
       set available = a.available - l.amount, held = a.held + l.amount
      from jsonb_to_record(p_lines -> 1) as l(address text, value text, rail text, amount numeric)
     where a.kind = 'custodial' and a.address_id = l.address and a.value_type = l.value and a.transfer_type = l.rail
       and a.available >= l.amount
    returning a.id, a.value_type, l.amount
  )
  insert into {{schema}}.ledger_entry (posting_id, step, line, ledger_account_id, bucket, value_type, amount)
  select p_posting_id, 'hold', e.line, w.id, e.bucket, w.value_type, e.sign * w.amount
    from wallet w
   cross join (values (1, 'available', -1), (2, 'held', 1)) as e(line, bucket, sign);
  return found;
end
$$;
