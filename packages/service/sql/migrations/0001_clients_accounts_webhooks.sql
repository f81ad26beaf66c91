-- Clients, and what they prove themselves with.
create table {{schema}}.client (
  id text primary key,
  name text not null,
  environment text not null check (environment in ('testnet', 'mainnet')),
  scopes text[] not null,
  created_at timestamptz not null
);

create table {{schema}}.client_secret (
  id text primary key,
  client_id text not null references {{schema}}.client (id) on delete cascade,
  digest bytea not null,
  created_at timestamptz not null,
  unique (client_id, digest)
);

create table {{schema}}.access_token (
  digest bytea primary key,
  client_id text not null references {{schema}}.client (id) on delete cascade,
  scopes text[] not null,
  expires_at timestamptz not null,
  created_at timestamptz not null
);

create index access_token_expires_at on {{schema}}.access_token (expires_at);

-- Accounts, and which clients see them.
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

create index client_account_of_account on {{schema}}.client_account (account_id, client_id);

comment on column {{schema}}.client_account.position is 'the lowest is the account that the client owns';

-- A registration of the kind `notice` stands for the URL that the notices of a bank link go to: nobody reads or changes it as a
-- webhook, no event matches it, and what goes there is not signed. A secret that was replaced signs together with its successor
-- until its time is over.
create table {{schema}}.webhook_registration (
  id text primary key,
  account_id text not null references {{schema}}.account (id) on delete cascade,
  kind text not null default 'webhook' check (kind in ('webhook', 'notice')),
  url text not null,
  event_types text[] not null,
  status text not null check (status in ('active', 'disabled')),
  disabled_reason text,
  secret text,
  previous_secret text,
  previous_secret_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint webhook_registration_is_signed check ((kind = 'notice') = (secret is null)),
  constraint webhook_registration_previous_secret_ends
    check ((previous_secret is null) = (previous_secret_until is null))
);

comment on column {{schema}}.webhook_registration.secret is 'sealed';
comment on column {{schema}}.webhook_registration.previous_secret is 'sealed, for the column secret that it comes from';

create index webhook_registration_account on {{schema}}.webhook_registration (account_id);

create index webhook_registration_previous_secret on {{schema}}.webhook_registration (previous_secret_until)
  where previous_secret_until is not null;

create table {{schema}}.webhook_event (
  id text primary key,
  account_id text not null,
  type text not null,
  body text not null,
  traceparent text,
  created_at timestamptz not null
);

comment on column {{schema}}.webhook_event.body is 'the exact octets that every delivery sends';
comment on column {{schema}}.webhook_event.traceparent is 'the W3C context of the span that recorded it; null without telemetry';

create index webhook_event_account on {{schema}}.webhook_event (account_id, id);

create table {{schema}}.webhook_delivery (
  id bigint generated always as identity primary key,
  registration_id text not null references {{schema}}.webhook_registration (id) on delete cascade,
  event_id text not null references {{schema}}.webhook_event (id) on delete cascade,
  account_id text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed', 'canceled')),
  attempts smallint not null default 0,
  next_attempt_at timestamptz not null default '-infinity',
  last_attempt_at timestamptz,
  last_status smallint,
  last_error text,
  created_at timestamptz not null
) with (fillfactor = 80);

create index webhook_delivery_due on {{schema}}.webhook_delivery (next_attempt_at, id) where status = 'pending';

-- A claim steps from one registration to the next, however many deliveries each of them has.
create index webhook_delivery_pending on {{schema}}.webhook_delivery (registration_id, next_attempt_at, id)
  where status = 'pending';

create index webhook_delivery_account on {{schema}}.webhook_delivery (account_id, id);

create index webhook_delivery_event on {{schema}}.webhook_delivery (event_id);

-- Of all statuses: a registration is deleted with its deliveries.
create index webhook_delivery_registration on {{schema}}.webhook_delivery (registration_id);

-- One link of an account at the bank-linking provider.
create table {{schema}}.bank_link_item (
  -- The provider's id.
  id text primary key,
  account_id text not null references {{schema}}.account (id) on delete cascade,
  access_token text not null,
  -- Where notices of re-authentication go.
  notice_registration_id text references {{schema}}.webhook_registration (id) on delete set null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

comment on column {{schema}}.bank_link_item.access_token is 'sealed';

create index bank_link_item_account on {{schema}}.bank_link_item (account_id);

-- What became of a public token: leased while it is exchanged, then exchanged, then registered.
create table {{schema}}.bank_link_exchange (
  account_id text not null references {{schema}}.account (id) on delete cascade,
  public_token_digest text not null,
  leased_until timestamptz not null,
  item_id text,
  access_token text,
  -- The financial institutions that came of it; null until it is registered.
  address_ids text[],
  created_at timestamptz not null,
  primary key (account_id, public_token_digest),
  check (access_token is null or item_id is not null),
  check (address_ids is null or (item_id is not null and access_token is null))
);

comment on column {{schema}}.bank_link_exchange.public_token_digest is 'keyed digest';
comment on column {{schema}}.bank_link_exchange.access_token is 'sealed; the item has it once it is registered';

-- Addresses: wallets of the service, and counterparties.
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
  bank_name text,
  bank_address jsonb,
  beneficiary_address jsonb,
  bank_link_item_id text references {{schema}}.bank_link_item (id) on delete set null,
  bank_login_required_at timestamptz,
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

create index address_bank_link_item on {{schema}}.address (bank_link_item_id) where bank_link_item_id is not null;

create unique index address_linked_bank_account on {{schema}}.address (account_id, bank_account_index)
  where bank_link_item_id is not null;

-- Answers that are kept under idempotency keys.
create table {{schema}}.idempotency_key (
  client_id text not null,
  idempotency_key text not null,
  fingerprint text not null,
  response_status smallint,
  response_body text,
  response_sealed boolean not null default false,
  created_at timestamptz not null,
  primary key (client_id, idempotency_key)
) with (fillfactor = 80);

create index idempotency_key_created_at on {{schema}}.idempotency_key using brin (created_at);
