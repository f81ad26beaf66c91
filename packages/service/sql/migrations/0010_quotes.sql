-- Rates between value types with different pegs, each guaranteed for one transfer until it expires.
create table {{schema}}.quote (
  id text primary key,
  account_id text not null,
  source_value_type text not null,
  source_value numeric not null check (source_value > 0),
  destination_value_type text not null,
  destination_value numeric not null check (destination_value > 0),
  -- How many of the destination's value type one of the source's becomes.
  rate numeric not null check (rate > 0),
  -- The side whose amount was asked for.
  fixed_side text not null check (fixed_side in ('source', 'destination')),
  -- The provider's own.
  reference text not null,
  -- The transfer that has used it.
  transfer_id text unique,
  created_at timestamptz not null,
  expires_at timestamptz not null
);

create index quote_of_account on {{schema}}.quote (account_id, id desc);
create index quote_unused on {{schema}}.quote (expires_at) where transfer_id is null;

alter table {{schema}}.quote enable row level security, force row level security;
create policy tenant on {{schema}}.quote using (current_setting('outlay.system', true) = 'on' or (
  select true from {{schema}}.client_account c
   where c.client_id = current_setting('outlay.client_id', true) and c.account_id = quote.account_id
));

-- What the transfer has of its quote: {id, rate, reference, sourceAmount, destinationAmount}; null where value moves one to one.
alter table {{schema}}.transfer add column quote jsonb;

-- What was credited at the source for what came back, which is in the value type of the destination; null without a quote.
alter table {{schema}}.transfer_return add column source_value numeric check (source_value >= 0);

-- The desk that gives the rates: it takes one value type and gives another.
alter table {{schema}}.ledger_account
  drop constraint ledger_account_kind_check,
  add constraint ledger_account_kind_check
    check (kind in ('custodial', 'issuer', 'settlement', 'outside', 'receivable', 'exchange'));
