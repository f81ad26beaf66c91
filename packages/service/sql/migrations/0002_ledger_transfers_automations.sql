-- Double entry. A custodial account keeps its balance in its own row, so that a check can hold it above zero; the
-- balance of every other account is the sum of its entries, so that no row is touched by every transfer.

create table {{schema}}.ledger_account (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('custodial', 'issuer', 'settlement', 'outside')),
  account_id text not null default '',
  address_id text not null default '',
  value_type text not null,
  transfer_type text not null default '',
  available numeric not null default 0,
  held numeric not null default 0,
  unique (kind, address_id, value_type, transfer_type),
  constraint ledger_account_has_owner check ((kind = 'custodial') = (account_id <> '' and address_id <> '')),
  constraint ledger_account_not_overdrawn check (available >= 0 and held >= 0)
);

create index ledger_account_of_account on {{schema}}.ledger_account (account_id, id) where kind = 'custodial';

create table {{schema}}.ledger_entry (
  -- Id of the transfer or the deposit.
  posting_id text not null,
  step text not null check (step in ('hold', 'post', 'void', 'deposit', 'reverse')),
  line smallint not null,
  ledger_account_id bigint not null,
  bucket text not null check (bucket in ('available', 'held')),
  value_type text not null,
  amount numeric not null check (amount <> 0),
  created_at timestamptz not null default now(),
  primary key (posting_id, step, line)
);

-- A hold ends once: posted or voided, never both.
create unique index ledger_entry_ends_once on {{schema}}.ledger_entry (posting_id)
  where step in ('post', 'void') and line = 1;

create index ledger_entry_of_account on {{schema}}.ledger_entry (ledger_account_id);

create constraint trigger ledger_entry_balanced after insert on {{schema}}.ledger_entry
  deferrable initially deferred for each row execute function {{schema}}.ledger_check_balanced();

create trigger ledger_entry_immutable before update or delete on {{schema}}.ledger_entry
  for each row execute function {{schema}}.ledger_refuse_change();

-- Transfers.
create table {{schema}}.transfer (
  id text primary key,
  account_id text not null,
  status text not null check (status in ('pending', 'processing', 'failed', 'canceled', 'complete')),
  failure jsonb,
  flow text not null check (flow in ('onramp', 'offramp', 'swap', 'payout')),
  amount_value numeric not null check (amount_value > 0),
  amount_currency text not null,
  source_address_id text,
  -- The virtual account that the money of an automation came through.
  source_financial_institution_id text,
  source_value_type text not null,
  source_transfer_type text not null,
  source_transaction_id text,
  source_payment_details jsonb,
  destination_address_id text not null,
  destination_value_type text not null,
  destination_transfer_type text not null,
  destination_transaction_id text,
  destination_payment_details jsonb,
  wire_memo text,
  wire_instructions jsonb,
  brand_account_id text,
  automation_id text,
  note text,
  -- Lines of the ledger for the end of the transfer: {post: […], void: […]}.
  plan jsonb not null,
  -- Legs whose transaction id is the rail's reference.
  reference_legs text not null check (reference_legs in ('source', 'destination', 'both', 'none')),
  -- The rail's reference; set once the engine knows it.
  reference text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create index transfer_of_account on {{schema}}.transfer (account_id, id desc);
create index transfer_by_source_transaction on {{schema}}.transfer (source_transaction_id, account_id)
  where source_transaction_id is not null;
create index transfer_by_destination_transaction on {{schema}}.transfer (destination_transaction_id, account_id)
  where destination_transaction_id is not null;
create index transfer_of_automation on {{schema}}.transfer (automation_id, id desc) where automation_id is not null;
create index transfer_by_wire_memo on {{schema}}.transfer ((wire_instructions ->> 'memo'))
  where wire_instructions is not null;
create index transfer_by_wire_account on {{schema}}.transfer ((wire_instructions ->> 'accountNumber'))
  where wire_instructions is not null;

create table {{schema}}.automation (
  id text primary key,
  account_id text not null references {{schema}}.account (id) on delete cascade,
  environment text not null check (environment in ('testnet', 'mainnet')),
  name text not null,
  status text not null check (status in ('pending', 'processing', 'active', 'disabled', 'archived')),
  source_value_type text not null,
  destination_address_id text not null,
  destination_value_type text not null,
  destination_transfer_type text not null,
  brand_account_id text,
  beneficiary_name text not null,
  beneficiary_address text not null,
  financial_institution_id text not null unique,
  bank_name text,
  bank_address text,
  routing_number text,
  account_number text,
  account_number_index text unique,
  memo text,
  -- When the bank is asked for the account; null once it was.
  open_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((account_number is null) = (account_number_index is null)),
  check (account_number is null or num_nonnulls(bank_name, bank_address, routing_number) = 3),
  check (status not in ('active', 'disabled') or account_number is not null)
);

comment on column {{schema}}.automation.account_number is 'sealed';
comment on column {{schema}}.automation.account_number_index is 'keyed digest of routing and account number';
comment on column {{schema}}.automation.financial_institution_id is 'what the sources of its transfers show';

create index automation_of_account on {{schema}}.automation (account_id, id desc);
create index automation_to_open on {{schema}}.automation (open_at) where open_at is not null;

-- Every payment that reached a virtual account, once: it either made a transfer or went back.
create table {{schema}}.automation_deposit (
  id text primary key,
  transfer_type text not null,
  -- The bank's: the IMAD of a wire, the trace number of an ACH entry.
  reference text not null,
  -- Null when no automation has the account number.
  automation_id text,
  account_id text,
  amount_value numeric not null check (amount_value > 0),
  amount_currency text not null,
  transfer_id text unique,
  return_reason text,
  created_at timestamptz not null,
  unique (transfer_type, reference),
  check (num_nonnulls(transfer_id, return_reason) = 1)
);

create index automation_deposit_of_automation on {{schema}}.automation_deposit (automation_id, id desc);
