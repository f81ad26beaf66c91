create table {{schema}}.account (
  id text primary key,
  environment text not null check (environment in ('testnet', 'mainnet')),
  status text not null check (status in ('pending', 'complete', 'rejected')),
  business_name text not null,
  ein text not null,
  address jsonb not null,
  phone_number text not null,
  email text not null,
  website text not null,
  ultimate_beneficial_owners jsonb not null,
  business_controller text,
  tos_attestation jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

comment on column {{schema}}.account.ein is 'sealed';
comment on column {{schema}}.account.ultimate_beneficial_owners is 'each ssn is sealed';
comment on column {{schema}}.account.business_controller is 'sealed as a whole';

create table {{schema}}.client_account (
  client_id text not null references {{schema}}.client (id) on delete cascade,
  account_id text not null references {{schema}}.account (id) on delete cascade,
  position bigint generated always as identity,
  created_at timestamptz not null,
  primary key (client_id, account_id)
);

comment on column {{schema}}.client_account.position is 'the lowest is the account that the client owns';
