-- The lines of what comes back of a transfer, of which its account owes a part after the split. Where the same lines give the amount to one of
-- its wallets, only what nobody owes is reversed: the account would owe what it gets at once, so the payment stays as far as its payee keeps it.
-- Other lines stay as the split left them.
create or replace function {{schema}}.return_between_wallets(p_lines jsonb, p_split jsonb, p_amount numeric) returns jsonb
language sql as $$
  with owed as (
    select coalesce(-sum(l.amount), 0) as amount
      from jsonb_to_recordset(p_split) as l(kind text, amount numeric)
     where l.kind = 'receivable'
  ), back as (
    select p_amount - owed.amount as amount
      from owed
     where owed.amount > 0 and exists (
       select from jsonb_to_recordset(p_lines) as l(kind text, amount numeric) where l.kind = 'custodial' and l.amount > 0
     )
  )
  select case
           when not exists (select from back) then p_split
           else (
             select coalesce(jsonb_agg(
                      l.line || jsonb_build_object('amount', sign((l.line ->> 'amount')::numeric) * back.amount)
                    ), '[]')
               from back
              cross join jsonb_array_elements(p_lines) as l(line)
              where back.amount > 0
           )
         end
$$;
