-- What went back, for operators.
create or replace view {{schema}}.returned_deposit with (security_invoker = true) as
  select id, transfer_type, reference, automation_id, account_id, amount_value, amount_currency, return_reason,
         created_at
    from {{schema}}.automation_deposit
   where return_reason is not null;
