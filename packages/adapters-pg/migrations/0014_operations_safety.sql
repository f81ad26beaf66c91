-- Where this database is at home, what must not be sent, and what a reconciliation with the service has found.

-- These functions get or give more from now on.
drop function if exists {{schema}}.fetch_and_take(integer, text);
drop function if exists {{schema}}.take(text[], uuid[], text);
drop function if exists {{schema}}.begin_attempts(text[], text);
drop function if exists {{schema}}.enqueue_one(text, uuid, text, text, text, jsonb, integer, boolean, timestamptz, timestamptz);
drop function if exists {{schema}}.enqueue_many(
  text[], uuid[], text[], text[], text[], text[], integer[], integer[], boolean, timestamptz[], timestamptz[]);

-- The environment of the gateway that the transfer was enqueued for; null when that declared none.
alter table {{schema}}.transfer add column environment text;

-- The server and the database that workers have last recognized, and the deployment and environment they belong to. One row,
-- written when workers first start. A copy has it too, and is recognized by it.
create table {{schema}}.home (
  only_row          boolean primary key default true check (only_row),
  system_identifier text,
  database_oid      bigint not null,
  database_name     text not null,
  timeline          bigint not null,
  deployment        text,
  environment       text check (environment in ('testnet', 'mainnet')),
  recorded_at       timestamptz not null default clock_timestamp(),
  -- When a worker last saw this database at home: what was streamed to a standby that runs is younger than its start.
  seen_at           timestamptz not null default clock_timestamp(),
  adopted_by        text,
  adopted_reason    text,
  -- Set while nothing may be sent until the service has been asked what it has.
  fenced_since      timestamptz,
  fence_reason      text,
  fenced_by         text
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
comment on table {{schema}}.home is
  'Server, database, deployment and environment that workers have last recognized; null in fenced_since when transfers may be sent.';

-- What must not be sent, whoever works. A host may write rows of its own, in its own transaction.
create table {{schema}}.stop (
  scope  text not null check (scope in ('all', 'gateway', 'account')),
  name   text not null default '',
  since  timestamptz not null default clock_timestamp(),
  reason text,
  actor  text,
  primary key (scope, name),
  check ((scope = 'all') = (name = ''))
);
comment on table {{schema}}.stop is
  'While a row is here no request begins for what it names: everything, a gateway (there is one, "default"), or an account.';

-- Every reconciliation with the service that changed something or lifted the fence.
create table {{schema}}.reconciliation (
  id          bigint generated always as identity primary key,
  since       timestamptz not null,
  ended_at    timestamptz not null default clock_timestamp(),
  actor       text,
  lifted      boolean not null,
  differences jsonb not null
);
