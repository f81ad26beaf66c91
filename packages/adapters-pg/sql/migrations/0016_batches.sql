-- Transfers that belong together. A host's transaction never writes a row of a batch that others wait for: what it changes is a row of its own.
create table {{schema}}.batch (
  id           text collate "C" primary key,
  -- Null for transfers of any account.
  account_id   text,
  -- The host's own name of it.
  key          text,
  metadata     jsonb,
  created_at   timestamptz not null default clock_timestamp(),
  -- When a worker found that it was closed and everything in it had ended. Written once, by a worker.
  completed_at timestamptz
);
create unique index batch_key on {{schema}}.batch (coalesce(account_id, ''), key) where key is not null;
create index batch_open on {{schema}}.batch (id) where completed_at is null;
comment on table {{schema}}.batch is 'Transfers that belong together.';

-- Batches that take no further transfer.
create table {{schema}}.closed_batch (
  batch_id  text collate "C" primary key,
  closed_at timestamptz not null default clock_timestamp()
);

-- What changed of a batch, one row for each change, written by whoever makes it. A worker adds them up and deletes them.
create table {{schema}}.batch_change (
  batch_id    text collate "C" not null,
  pending     integer not null default 0,
  processing  integer not null default 0,
  failed      integer not null default 0,
  canceled    integer not null default 0,
  complete    integer not null default 0,
  unended     integer not null default 0,
  resubmitted integer not null default 0
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index batch_change_batch on {{schema}}.batch_change (batch_id);

-- What workers have added up. With the changes that are left it is exact at each moment.
create table {{schema}}.batch_count (
  batch_id    text collate "C" primary key,
  pending     integer not null,
  processing  integer not null,
  failed      integer not null,
  canceled    integer not null,
  complete    integer not null,
  unended     integer not null,
  resubmitted integer not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- Batches whose transfers are not sent, and those that were resumed, until workers have made due what waited.
create table {{schema}}.paused_batch (
  batch_id text collate "C" primary key
);
create table {{schema}}.resumed_batch (
  batch_id   text collate "C" primary key,
  resumed_at timestamptz not null default clock_timestamp(),
  -- When a worker first saw it: the transaction that resumed it may have committed long after the time above.
  seen_at    timestamptz
);

alter table {{schema}}.transfer add column batch_id text collate "C";
comment on column {{schema}}.transfer.batch_id is 'The batch that it belongs to. Chosen once, with the enqueue.';

create trigger transfer_batch_counts after update of stage, status on {{schema}}.transfer for each row
  when (new.batch_id is not null and (old.status is distinct from new.status or (old.stage = 'settled') is distinct from (new.stage = 'settled')))
  execute function {{schema}}.count_batch();
