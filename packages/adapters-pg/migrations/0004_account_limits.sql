-- Limits of accounts, and how far the service has slowed them down.

alter table {{schema}}.account
  add column rate_per_second double precision,
  add column concurrency     integer,
  add column weight          double precision not null default 1;

-- The table has a row for whoever was ever told that funds arrived; claims and enqueues ask about the few.
create index account_paused on {{schema}}.account (account_id) where paused;
create index account_limited on {{schema}}.account (account_id) where rate_per_second is not null or concurrency is not null;
create index account_weighted on {{schema}}.account (account_id) where weight <> 1;

-- Accounts that are limited or slowed down, once they have sent something. Written by workers alone: a host's transaction that
-- stays open holds no claim up.
create table {{schema}}.account_pace (
  account_id text primary key,
  -- When the next submission may go; what is not used is saved up for a quarter of a second.
  next_at    timestamptz,
  -- Something waits for its turn.
  waiting    boolean not null default false,
  waited_at  timestamptz,
  -- What the service left after a 429, in submissions per second; null when it asked for nothing.
  rate       double precision,
  held_until timestamptz,
  changed_at timestamptz,
  version    integer not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- One row per submission under way of an account with a bound on those.
create table {{schema}}.submission_slot (
  transfer_id text collate "C" primary key,
  account_id  text not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index submission_slot_account on {{schema}}.submission_slot (account_id);
