-- concurrently: what policies about earlier transfers need, made where somebody asks for it, since each transfer pays for it. Functions: payment_ref, amount_of, payee_of.
create index concurrently transfer_payment on {{schema}}.transfer ({{schema}}.payment_ref(request), account_id, {{schema}}.amount_of(request -> 'amount'), created_at);
create index concurrently counterparty_payee on {{schema}}.counterparty (payee, account_id) where payee is not null;
create index concurrently counterparty_details_payee on {{schema}}.counterparty_details ({{schema}}.payee_of(details), account_id);
