-- Writes a transfer and holds its money. Fails with the constraint ledger_hold_covered when the wallet does not cover the hold, and with
-- receivable_blocks_sends when the account owes money that it has to pay before it gives any to others.
-- The caller has read the parties before the transaction, so that a rail could check them. When one of them has become
-- unusable since, the transaction fails as in a conflict with another one: the caller reads them again.
create or replace function {{schema}}.transfer_hold(p_transfer jsonb, p_hold jsonb) returns void language plpgsql as $$
declare
  v_id text := p_transfer ->> 'id';
  v_source text := p_transfer ->> 'source_address_id';
  v_destination text := p_transfer ->> 'destination_address_id';
  v_payee jsonb := p_transfer -> 'plan' -> 'post' -> -1;
  v_usable int;
  v_covered boolean;
begin
  -- Until the commit, so that whoever rejects the account waits for this transfer and finds it. Before the wallet, which they need as well.
  perform from {{schema}}.account o where o.id = p_transfer ->> 'account_id' for share;
  insert into {{schema}}.transfer select * from jsonb_populate_record(null::{{schema}}.transfer, p_transfer);
  v_covered := jsonb_array_length(p_hold) = 0 or {{schema}}.ledger_hold(v_id, p_hold);

  -- After the hold, which may have waited for the wallet, and for a return that took what it had. What an onramp brings to somebody else is
  -- owed when it is returned; money that has arrived at a virtual account is credited.
  if (jsonb_array_length(p_hold) > 0 or (p_transfer ->> 'automation_id' is null
        and (v_payee ->> 'kind', v_payee ->> 'account') is distinct from ('custodial', p_transfer ->> 'account_id')))
    and exists (
      select from {{schema}}.receivable r
       where r.account_id = p_transfer ->> 'account_id' and r.blocks_sends and r.amount > 0
    ) then
    raise exception 'The account of % owes money.', v_id
      using errcode = 'check_violation', constraint = 'receivable_blocks_sends';
  end if;
  if not v_covered then
    raise exception 'The wallet does not cover the hold of %.', v_id
      using errcode = 'check_violation', constraint = 'ledger_hold_covered';
  end if;

  -- After the hold, too.
  select count(*) into v_usable
    from {{schema}}.account o
    join {{schema}}.address a on a.account_id = o.id
   where o.id = p_transfer ->> 'account_id' and o.status = 'complete'
     and a.id in (v_source, v_destination) and a.status = 'active'
     and (a.id is distinct from v_source or a.bank_login_required_at is null);
  if v_usable < (case when v_source is null or v_source = v_destination then 1 else 2 end)
    or (v_payee ->> 'kind' = 'custodial' and v_payee ->> 'address' <> v_destination
        and not {{schema}}.wallet_is_open(v_payee ->> 'account', v_payee ->> 'address')) then
    raise exception 'A party of the transfer has changed.' using errcode = 'serialization_failure';
  end if;
  -- Other banks see the name of the brand, which was read before the rail was asked.
  if p_transfer ->> 'brand_account_id' is not null and not exists (
    select from {{schema}}.account b where b.id = p_transfer ->> 'brand_account_id' and b.status = 'complete'
  ) then
    raise exception 'The brand of the transfer has changed.' using errcode = 'serialization_failure';
  end if;
end
$$;
