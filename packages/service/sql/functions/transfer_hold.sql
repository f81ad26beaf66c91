-- Writes a transfer and holds its money. Fails with the constraint ledger_hold_covered when the wallet does not cover the hold.
-- The caller has read the parties before the transaction, so that a rail could check them. When one of them has become
-- unusable since, the transaction fails as in a conflict with another one: the caller reads them again.
create or replace function {{schema}}.transfer_hold(p_transfer jsonb, p_hold jsonb) returns void language plpgsql as $$
declare
  v_source text := p_transfer ->> 'source_address_id';
  v_held text := {{schema}}.ledger_apply(p_transfer ->> 'id', 'hold', p_hold);
begin
  if v_held = 'insufficient' then
    raise exception 'The wallet does not cover the hold of %.', p_transfer ->> 'id'
      using errcode = 'check_violation', constraint = 'ledger_hold_covered';
  end if;
  insert into {{schema}}.transfer select * from jsonb_populate_record(null::{{schema}}.transfer, p_transfer);

  -- After the hold, which may have waited for the wallet.
  perform from {{schema}}.account o
    where o.id = p_transfer ->> 'account_id' and o.status = 'complete'
      and not exists (
        select from unnest(array[v_source, p_transfer ->> 'destination_address_id']) as p(id)
         where p.id is not null
           and not exists (
             select from {{schema}}.address a
              where a.id = p.id and a.account_id = o.id and a.status = 'active'
                and (p.id is distinct from v_source or a.bank_login_required_at is null)
           )
      );
  if not found then
    raise exception 'A party of the transfer has changed.' using errcode = 'serialization_failure';
  end if;
end
$$;
