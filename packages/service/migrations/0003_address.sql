create table {{schema}}.address (
  id text primary key,
  account_id text not null references {{schema}}.account (id) on delete cascade,
  environment text not null check (environment in ('testnet', 'mainnet')),
  type text not null check (type in ('internal', 'external')),
  kind text not null check (kind in ('wallet', 'canton', 'bank')),
  family text,
  status text not null check (status in ('pending', 'active', 'archived')),
  name text not null,
  address text not null,
  address_normal text not null,
  transfer_types text[] not null,
  bank_owner text,
  bank_account_type text,
  bank_routing_number text,
  bank_account_number text,
  bank_account_last4 text,
  bank_account_index text,
  bank_address jsonb,
  beneficiary_address jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((kind = 'bank') = (family is null)),
  check ((kind = 'bank') = (bank_account_number is not null)),
  check ((kind = 'bank') = (address = ''))
);

comment on column {{schema}}.address.bank_account_number is 'sealed';
comment on column {{schema}}.address.bank_account_index is 'keyed digest of routing and account number';

create index address_account on {{schema}}.address (account_id, id);

create unique index address_custodial on {{schema}}.address (environment, address_normal) where type = 'internal';

create index address_bank_account on {{schema}}.address (account_id, bank_account_index) where kind = 'bank';
