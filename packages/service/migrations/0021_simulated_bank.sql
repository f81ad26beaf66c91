-- Virtual accounts of the simulated rails, and what arrives at them.

create table {{schema}}.rail_virtual_account (
  automation_id text primary key,
  -- The account number is written from it.
  sequence bigint not null unique,
  -- Virtual time; null once the service knows that the account is open.
  ready_at timestamptz
);

create index rail_virtual_account_due on {{schema}}.rail_virtual_account (ready_at) where ready_at is not null;

create table {{schema}}.rail_deposit (
  automation_id text not null,
  transfer_type text not null,
  -- The sender's own; a repeat is the same payment.
  reference text not null,
  bank_reference text not null,
  position bigint generated always as identity,
  amount text not null,
  -- Who sent it; forgotten once the service has taken the deposit.
  details jsonb,
  verdict text check (verdict in ('credited', 'returned')),
  primary key (automation_id, transfer_type, reference),
  unique (transfer_type, bank_reference)
);

create index rail_deposit_untold on {{schema}}.rail_deposit (position) where verdict is null;
