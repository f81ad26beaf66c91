-- What limits on sums count of a payee, and what may be given back later. Functions: limit_payee, limit_scope, limit_covers, lock_uses, give_back, return_charges.

-- Goes into the text by which the sums of payees are called: who may read sums cannot find an account number by trying all.
create table {{schema}}.limit_salt (
  id   boolean primary key default true check (id),
  salt text not null
);
insert into {{schema}}.limit_salt (salt) values (gen_random_uuid()::text || gen_random_uuid()::text);

-- Of the sum of a payee: an id of an address of it, the one that was counted first.
alter table {{schema}}.limit_use add column address_id text;

-- When a worker next checks whether it may be given back. What may still move money waits.
alter table {{schema}}.limit_refund add column due_at timestamptz not null default clock_timestamp();
create index limit_refund_due on {{schema}}.limit_refund (due_at);
