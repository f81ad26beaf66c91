-- State of the simulated rails. A deployment with rails of its own leaves these tables empty.

create table {{schema}}.simulation_clock (
  singleton boolean primary key default true check (singleton),
  offset_ms bigint not null default 0 check (offset_ms >= 0)
);

insert into {{schema}}.simulation_clock default values;

-- Handed out in blocks of a thousand.
create sequence {{schema}}.rail_reference_block increment by 1000;

create table {{schema}}.rail_payment (
  transfer_id text primary key,
  account_id text not null,
  reference text not null unique,
  state text not null check (state in ('expected', 'accepted', 'settled', 'rejected', 'returned')),
  -- What happens next, and when in virtual time; null when nothing does by itself.
  next_state text check (next_state in ('accepted', 'settled', 'rejected', 'returned')),
  next_at timestamptz,
  failure jsonb,
  -- The flow and the rails of both legs: enough to time and to describe what comes.
  route jsonb not null,
  source jsonb,
  destination jsonb,
  -- What the other bank shows for an ACH entry: {companyName, name, entryDescription}; null for every other rail.
  statement_line jsonb,
  -- A payment that failed and is retried is presented again: 1 for the first presentment, which null stands for too.
  presentment smallint check (presentment between 1 and 3),
  -- Virtual time of the newest presentment after the first.
  represented_at timestamptz,
  check ((next_state is null) = (next_at is null))
);

create index rail_payment_due on {{schema}}.rail_payment (next_at) where next_at is not null;

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

create index rail_deposit_unreported on {{schema}}.rail_deposit (position) where verdict is null;

-- State of the simulated bank-linking provider. A deployment with a provider of its own leaves these tables empty.

create table {{schema}}.simulated_bank_flow (
  link_token_digest bytea primary key,
  owner_id text not null,
  -- The item whose login the flow renews; null when it makes a new one.
  item_id text,
  expires_at timestamptz not null,
  public_token_digest bytea unique,
  public_token_expires_at timestamptz,
  exchanged_at timestamptz,
  -- What was selected, sealed.
  selection text
);

create table {{schema}}.simulated_bank_item (
  id text primary key,
  owner_id text not null,
  access_token_digest bytea not null unique,
  selection text not null
);

comment on column {{schema}}.simulated_bank_flow.selection is 'sealed';
comment on column {{schema}}.simulated_bank_item.selection is 'sealed';
