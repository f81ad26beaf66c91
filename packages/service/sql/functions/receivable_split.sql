-- The same lines, where no wallet, which the caller has locked, pays more than it has available: its account owes the rest.
create or replace function {{schema}}.receivable_split(p_lines jsonb) returns jsonb language sql as $$
  with line as (
    select l.kind, l.account, l.address, l.value, l.rail, l.amount,
           case when l.kind = 'custodial' and l.amount < 0
             then greatest(-l.amount - coalesce(a.available, 0), 0) else 0 end as owed
      from jsonb_to_recordset(p_lines)
             as l(kind text, account text, address text, value text, rail text, bucket text, amount numeric)
      left join {{schema}}.ledger_account a
        on a.kind = l.kind and a.address_id = l.address and a.value_type = l.value and a.transfer_type = l.rail
  ), part as (
    select kind, account, address, value, rail, amount + owed as amount from line
    union all
    select 'receivable', account, address, value, rail, -owed from line
  )
  select jsonb_agg(jsonb_build_object(
           'kind', kind, 'account', account, 'address', address, 'value', value, 'rail', rail, 'bucket', 'available',
           'amount', amount
         ))
    from part
   where amount <> 0
$$;
