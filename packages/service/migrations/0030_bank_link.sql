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

alter table {{schema}}.address
  add column bank_name text,
  add column bank_link_item_id text references {{schema}}.bank_link_item (id) on delete set null,
  add column bank_login_required_at timestamptz;

create index address_bank_link_item on {{schema}}.address (bank_link_item_id) where bank_link_item_id is not null;

create unique index address_linked_bank_account on {{schema}}.address (account_id, bank_account_index)
  where bank_link_item_id is not null;

-- A registration of the kind `notice` stands for the URL that an item's notices go to: nobody reads or changes it as a
-- webhook, no event matches it, and what goes there is not signed.
alter table {{schema}}.webhook_registration
  add column kind text not null default 'webhook' check (kind in ('webhook', 'notice')),
  alter column secret drop not null,
  add constraint webhook_registration_is_signed check ((kind = 'notice') = (secret is null));
