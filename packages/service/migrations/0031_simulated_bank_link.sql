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
