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
