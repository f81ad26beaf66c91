-- concurrently
create index concurrently if not exists audit_transaction on {{schema}}.audit (transaction);
