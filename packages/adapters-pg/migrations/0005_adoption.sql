-- Transfers that others made at the service, and reading an account's list by pages.

-- When the service says that the current status was reached.
alter table {{schema}}.transfer add column reached_at timestamptz;

-- Accounts whose transfers of others are adopted. Everything that the service created up to `seen_to` was met; a reading of
-- the list that is not finished has a cursor, and began with a transfer that the service created at `reading_from`.
create table {{schema}}.watched_account (
  account_id   text primary key,
  since        timestamptz not null,
  seen_to      timestamptz not null,
  cursor       text,
  reading_from timestamptz,
  idle         integer not null default 0,
  look_at      timestamptz not null default clock_timestamp()
);
create index watched_account_due on {{schema}}.watched_account (look_at);

-- Transfers of watched accounts that were seen at the service and that no row stands for, until it is certain that none will.
create table {{schema}}.found_transfer (
  account_id text not null,
  remote_id  text not null,
  seen_at    timestamptz not null default clock_timestamp(),
  automated  boolean not null,
  transfer   jsonb not null,
  primary key (account_id, remote_id)
);

-- Accounts whose lists are being read for looks, from the newest transfer to the oldest, by one worker at a time.
create table {{schema}}.list_reading (
  account_id   text primary key,
  cursor       text,
  -- Pages that may still be read without meeting a transfer that is due.
  patience     integer not null,
  leased_until timestamptz not null
);
