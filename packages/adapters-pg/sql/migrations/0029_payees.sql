-- Digest of who is paid, for policies that name counterparties. Rows of earlier releases have none: their details are gone. Functions: payee_of, registered_payees,
-- resolve_counterparties, set_next_policies.
alter table {{schema}}.counterparty add column payee text;
