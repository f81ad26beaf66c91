-- The lines of what comes back of a transfer, of which its account owes a part after the split. Where the same lines give the amount to one of
-- its wallets, only what nobody owes is reversed: the account would owe what it gets at once, so the payment stays as far as its payee keeps it.
-- With a quote, p_source is what the source would get: it gets its share of that, truncated, at the rate of the quote. Other lines stay as the
-- split left them.
create or replace function {{schema}}.return_between_wallets(p_lines jsonb, p_split jsonb, p_amount numeric, p_source numeric) returns jsonb
language sql as $$
  with owed as (
    select min(l.value) as value, coalesce(-sum(l.amount), 0) as amount
      from jsonb_to_recordset(p_split) as l(kind text, value text, amount numeric)
     where l.kind = 'receivable'
  ), back as (
    select owed.value, p_amount - owed.amount as amount,
           -- Exact, as a quotient of numbers with fractions is not.
           div(p_source * (p_amount - owed.amount) * ('1e' || scale(p_source))::numeric, p_amount)
             * ('1e-' || scale(p_source))::numeric as source
      from owed
     where owed.amount > 0 and (p_source is not null or exists (
       select from jsonb_to_recordset(p_lines) as l(kind text, amount numeric) where l.kind = 'custodial' and l.amount > 0
     ))
  ), part as (
    select l.line, l.at, sign((l.line ->> 'amount')::numeric) as sign,
           case when p_source is null or l.line ->> 'value' = back.value then back.amount else back.source end as amount
      from back
     cross join jsonb_array_elements(p_lines) with ordinality as l(line, at)
  )
  select case
           when not exists (select from back) then p_split
           else (
             select coalesce(jsonb_agg(p.line || jsonb_build_object('amount', p.sign * p.amount) order by p.at), '[]')
               from part p
              where p.amount > 0
           )
         end
$$;
