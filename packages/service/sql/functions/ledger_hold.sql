-- Holds money of one wallet: the two lines take an amount from what is available and add it to what is held. Returns false, and
-- changes nothing, when the wallet does not cover it.
create or replace function {{schema}}.ledger_hold(p_posting_id text, p_lines jsonb) returns boolean language plpgsql as $$
declare
  v_address text := p_lines -> 1 ->> 'address';
  v_value text := p_lines -> 1 ->> 'value';
  v_rail text := p_lines -> 1 ->> 'rail';
  v_amount numeric := p_lines -> 1 ->> 'amount';
  v_wallet {{schema}}.ledger_account.id%type;
begin
  update {{schema}}.ledger_account a
     set available = a.available - v_amount, held = a.held + v_amount
   where a.kind = 'custodial' and a.address_id = v_address and a.value_type = v_value and a.transfer_type = v_rail
     and a.available >= v_amount
  returning a.id into v_wallet;
  if not found then
    return false;
  end if;

  -- In one statement, behind which the trigger checks their sum.
  insert into {{schema}}.ledger_entry (posting_id, step, line, ledger_account_id, bucket, value_type, amount)
  values (p_posting_id, 'hold', 1, v_wallet, 'available', v_value, -v_amount),
         (p_posting_id, 'hold', 2, v_wallet, 'held', v_value, v_amount);
  return true;
end
$$;
