-- Every ledger account with its balance; what the custodial rows say must equal what their entries say.
create or replace view {{schema}}.ledger_balance with (security_invoker = true) as
  select a.id, a.kind, a.account_id, a.address_id, a.value_type, a.transfer_type, a.available, a.held,
         coalesce(e.available, 0) as entries_available, coalesce(e.held, 0) as entries_held
    from {{schema}}.ledger_account a
    left join (
      select ledger_account_id,
             sum(amount) filter (where bucket = 'available') as available,
             sum(amount) filter (where bucket = 'held') as held
        from {{schema}}.ledger_entry
       group by ledger_account_id
    ) e on e.ledger_account_id = a.id;
