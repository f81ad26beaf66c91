-- What the service paid of a transfer, where that is another amount than was asked for. Functions: record_paid is new; settle, apply_returns and resolve_return use it.
alter table {{schema}}.transfer add column paid jsonb;
comment on column {{schema}}.transfer.paid is
  'What was paid, where that is another amount than was asked for: amount, when the service had last changed the transfer, and when it was seen here.';
