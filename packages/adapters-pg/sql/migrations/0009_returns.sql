-- Money of complete transfers that came back, one row for each return. Every report of the service has all returns of its transfer, so
-- the identity makes a repeat the same row.
create table {{schema}}.transfer_return (
  transfer_id text collate "C" not null,
  -- The content of the return, and its number among those with the same content.
  identity    text collate "C" not null,
  code        text not null,
  -- Null where the service does not say.
  amount      numeric,
  currency    text,
  occurred_at timestamptz,
  seen_at     timestamptz not null default clock_timestamp(),
  -- Of its event; null while the completion is not known here, and for one that is held.
  sequence    integer,
  -- Why it is held: not_complete, amount_unknown, other_currency or exceeds_transfer. Null for all others.
  problem     text,
  primary key (transfer_id, identity)
);
create index transfer_return_waiting on {{schema}}.transfer_return (transfer_id) where sequence is null and problem is null;
create index transfer_return_held on {{schema}}.transfer_return (seen_at) where problem is not null;
comment on table {{schema}}.transfer_return is
  'Money of complete transfers that came back. Null in sequence: it waits for the completion, or is held for the reason in problem.';

-- What came back, as handlers get it; null for every other event.
alter table {{schema}}.event add column returned jsonb;

-- Complete transfers whose money may still come back: until what the service says has been read once behind the end of their window.
create table {{schema}}.return_window (
  transfer_id text collate "C" primary key,
  account_id  text collate "C" not null,
  opened_at   timestamptz not null default clock_timestamp(),
  ends_at     timestamptz not null,
  -- True when a return was reported that could not be written yet: the transfer is read at once.
  wanted      boolean not null default false
);
create index return_window_account on {{schema}}.return_window (account_id, ends_at);
comment on table {{schema}}.return_window is 'Complete transfers whose money may still come back.';

-- Accounts with such transfers, and the readings of their lists.
create table {{schema}}.return_reading (
  account_id text collate "C" primary key,
  -- When to decide whether a reading is due; a lease while a worker has the account.
  next_at    timestamptz not null default clock_timestamp(),
  -- When the last reading began, or when the account was found.
  read_at    timestamptz not null default clock_timestamp(),
  -- Requests of the last reading; null before the first.
  requests   integer,
  -- The reading under way: when it began, its place, its requests, the transfers that it has yet to find, and the pages without any that it
  -- may still read.
  began_at   timestamptz,
  cursor     text,
  spent      integer not null default 0,
  remaining  integer not null default 0,
  patience   integer not null default 0
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index return_reading_next on {{schema}}.return_reading (next_at);
