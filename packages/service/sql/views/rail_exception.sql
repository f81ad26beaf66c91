-- What rails reported and the service could not apply, for operators; null in resolved_at until a person has resolved it.
create or replace view {{schema}}.rail_exception with (security_invoker = true) as
  select id, exception_reason, kind, rail, reference, transfer_id, account_id, amount_value, amount_currency, received_at,
         resolved_at, resolved_by, resolution, resolution_note
    from {{schema}}.rail_fact
   where exception_reason is not null;
