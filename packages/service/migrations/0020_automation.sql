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

-- What went back, for operators.
create view {{schema}}.returned_deposit as
  select id, transfer_type, reference, automation_id, account_id, amount_value, amount_currency, return_reason,
         created_at
    from {{schema}}.automation_deposit
   where return_reason is not null;

-- The virtual account that the money of an automation came through.
alter table {{schema}}.transfer add column source_financial_institution_id text;
