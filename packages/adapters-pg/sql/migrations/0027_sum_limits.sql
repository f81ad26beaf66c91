-- Limits on what may leave in an hour, a day or a month, and what is counted of them.

-- Every version of the limits.
create table {{schema}}.limit_version (
  version integer primary key,
  limits  jsonb not null,
  actor   text not null,
  reason  text not null,
  set_at  timestamptz not null default clock_timestamp()
);
create trigger limit_version_only_added before update or delete on {{schema}}.limit_version for each row execute function {{schema}}.refuse_change();
create trigger limit_version_not_emptied before truncate on {{schema}}.limit_version for each statement execute function {{schema}}.refuse_change();

-- The limits that hold, a row for each currency of each. Without limits a claim reads an empty table.
create table {{schema}}.sum_limit (
  name           text collate "C" not null,
  currency       text collate "C" not null,
  version        integer not null references {{schema}}.limit_version,
  -- What is counted: another one where anything but the sum is another.
  counter        text collate "C" not null unique,
  -- hour, day or month, of the calendar in this zone.
  span           text not null,
  zone           text not null,
  -- account, counterparty and gateway: each of them has a sum of its own. Empty for one sum of the whole host.
  per            text[] not null,
  -- Amounts in these count.
  currencies     text[] not null,
  most           numeric not null,
  -- Only these; null for all.
  accounts       text[],
  counterparties text[],
  gateways       text[],
  primary key (name, currency)
);
comment on table {{schema}}.sum_limit is 'Most that may leave in a time.';

-- How much of a limit is used in one hour, day or month. Locked by claims alone, in the order of the key, and never by a host.
create table {{schema}}.limit_use (
  counter  text collate "C" not null,
  scope    text collate "C" not null,
  began_at timestamptz not null,
  until    timestamptz not null,
  used     numeric not null default 0,
  primary key (counter, scope, began_at)
);
create index limit_use_until on {{schema}}.limit_use (until);
comment on table {{schema}}.limit_use is 'How much of a limit is used.';

-- What of that is a transfer's.
create table {{schema}}.limit_charge (
  transfer_id text collate "C" not null,
  counter     text collate "C" not null,
  scope       text collate "C" not null,
  began_at    timestamptz not null,
  until       timestamptz not null,
  amount      numeric not null,
  primary key (transfer_id, counter)
);
create index limit_charge_until on {{schema}}.limit_charge (until);

-- Counted transfers that have ended without an effect. Written by whoever ends them, a host too; a worker gives them back.
create table {{schema}}.limit_refund (
  transfer_id text collate "C" primary key,
  ended_at    timestamptz not null default clock_timestamp()
);

-- Limits beyond which a person lets a transfer go. It is counted all the same.
create table {{schema}}.limit_pass (
  transfer_id text collate "C" not null,
  name        text collate "C" not null,
  primary key (transfer_id, name)
);

-- Of the hold of a limit on sums: what is counted, and how much was used.
alter table {{schema}}.hold add column counter text collate "C", add column scope text collate "C", add column amount numeric, add column excess jsonb;
create index hold_excess on {{schema}}.hold (counter, scope, amount, transfer_id) where counter is not null;

create trigger transfer_gives_back after update of stage on {{schema}}.transfer for each row
  when (new.stage = 'settled' and new.status in ('canceled', 'failed') and old.stage <> 'settled')
  execute function {{schema}}.give_back();
