-- concurrently: finds under which ids a payee is registered, for policies that name counterparties. Rows of earlier releases have no payee: their details are
-- gone. Functions: payee_of, registered_payees, resolve_counterparties, set_next_policies.
alter table {{schema}}.counterparty add column if not exists payee text;
create index concurrently counterparty_payee on {{schema}}.counterparty (payee) where payee is not null;
create index concurrently counterparty_fingerprint on {{schema}}.counterparty (fingerprint);
