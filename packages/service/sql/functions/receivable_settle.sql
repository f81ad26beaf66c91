-- Pays what an account owes from its wallets, as far as they have it available, in one posting. From wallets of the same value on the same chain,
-- and then, for the value types of p_types, {peg, scale} each, from others of the same peg on any chain, one to one: one token is burned
-- and the other minted. What is owed is locked in the order of its key, as returns lock it, and paid in the order of its age.
create or replace function {{schema}}.receivable_settle(p_account_id text, p_posting_id text, p_types jsonb) returns void
language plpgsql as $$
declare
  v_owed record;
  v_wallet record;
  v_lines jsonb := '[]';
  v_rest numeric;
  v_paid numeric;
begin
  perform from {{schema}}.ledger_account a
    where a.kind = 'custodial' and a.account_id = p_account_id
    order by a.address_id, a.value_type, a.transfer_type
      for no key update;
  for v_owed in
    with locked as materialized (
      select * from {{schema}}.receivable r
       where r.account_id = p_account_id
       order by r.account_id, r.address_id, r.value_type, r.transfer_type
         for update
    )
    select * from locked where amount > 0 order by since, address_id
  loop
    v_rest := v_owed.amount;
    for v_wallet in
      select a.address_id, a.value_type, a.transfer_type, a.available - coalesce((
               select -sum(l.amount) from jsonb_to_recordset(v_lines) as l(kind text, address text, value text, rail text, amount numeric)
                where l.kind = 'custodial' and l.address = a.address_id and l.value = a.value_type and l.rail = a.transfer_type
             ), 0) as available,
             -- Both tokens have the amount.
             least(coalesce((p_types -> a.value_type ->> 'scale')::int, 18), coalesce((p_types -> v_owed.value_type ->> 'scale')::int, 18)) as digits
        from {{schema}}.ledger_account a
       where a.kind = 'custodial' and a.account_id = p_account_id
         and ((a.value_type = v_owed.value_type and a.transfer_type = v_owed.transfer_type)
              or p_types -> a.value_type ->> 'peg' = p_types -> v_owed.value_type ->> 'peg')
       order by a.value_type <> v_owed.value_type, a.transfer_type <> v_owed.transfer_type, a.value_type, a.transfer_type, a.address_id
    loop
      v_paid := least(v_rest, v_wallet.available);
      if v_wallet.value_type <> v_owed.value_type then
        v_paid := trunc(v_paid, v_wallet.digits);
      end if;
      continue when v_paid <= 0;
      v_rest := v_rest - v_paid;
      v_lines := v_lines || (
        select jsonb_agg(jsonb_build_object(
                 'kind', l.kind, 'account', l.account, 'address', l.address, 'value', l.value, 'rail', l.rail, 'bucket', 'available',
                 'amount', l.amount
               ))
          from (values
                 ('custodial', p_account_id, v_wallet.address_id, v_wallet.value_type, v_wallet.transfer_type, -v_paid),
                 ('issuer', '', '', v_wallet.value_type, '', v_paid),
                 ('issuer', '', '', v_owed.value_type, '', -v_paid),
                 ('receivable', p_account_id, v_owed.address_id, v_owed.value_type, v_owed.transfer_type, v_paid)
               ) as l(kind, account, address, value, rail, amount)
         where l.kind <> 'issuer' or v_wallet.value_type <> v_owed.value_type
      );
    end loop;
    update {{schema}}.receivable r
       set amount = v_rest
     where r.account_id = p_account_id and r.address_id = v_owed.address_id and r.value_type = v_owed.value_type
       and r.transfer_type = v_owed.transfer_type;
  end loop;
  perform {{schema}}.ledger_apply(p_posting_id, 'deposit', v_lines);
end
$$;
