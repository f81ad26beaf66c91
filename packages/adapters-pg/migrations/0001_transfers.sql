-- Transfers, their events, their attempts, and who is to be told.

-- Domains, because the checks of a table are prepared anew for every insert and those of a domain are not.
create domain {{schema}}.stage as text
  check (value in ('queued', 'submitting', 'awaiting_funds', 'submitted', 'blocked', 'settled'));
create domain {{schema}}.status as text
  check (value in ('pending', 'processing', 'failed', 'canceled', 'complete'));

create table {{schema}}.transfer (
  id              text collate "C" primary key,
  account_id      text not null,
  idempotency_key text not null,
  fingerprint     text not null,
  request         jsonb not null,
  stage           {{schema}}.stage not null default 'queued',
  status          {{schema}}.status not null default 'pending',
  failure         jsonb,
  remote_id       text,
  reason          text,
  attempt         integer not null default 0,
  event_sequence  integer not null default 1,
  looks           integer not null default 0,
  follow_at       timestamptz,
  unknown_since   timestamptz,
  not_before      timestamptz,
  expires_at      timestamptz,
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp(),
  constraint transfer_key unique (account_id, idempotency_key)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

create index transfer_remote on {{schema}}.transfer (remote_id) where remote_id is not null;
-- No index names the stage: a claim then changes no index at all.
create index transfer_follow on {{schema}}.transfer (follow_at) where follow_at is not null;
create index transfer_unsubmitted on {{schema}}.transfer (id) where remote_id is null;
create index transfer_unauthenticated on {{schema}}.transfer (account_id, id) where reason = 'unauthenticated';

create table {{schema}}.event (
  transfer_id text collate "C" not null,
  sequence    integer not null,
  type        text not null,
  stage       text not null,
  status      text not null,
  failure     jsonb,
  remote_id   text,
  reason      text,
  attempt     integer not null,
  occurred_at timestamptz not null default clock_timestamp(),
  primary key (transfer_id, sequence)
);

create table {{schema}}.attempt (
  transfer_id text collate "C" not null,
  attempt     integer not null,
  worker      text not null,
  claimed_at  timestamptz not null default clock_timestamp(),
  answered_at timestamptz,
  outcome     text,
  detail      text,
  http_status integer,
  request_id  text,
  primary key (transfer_id, attempt)
) with (fillfactor = 70);

create table {{schema}}.subscription (
  name       text primary key,
  types      text[] not null,
  created_at timestamptz not null default clock_timestamp()
);

-- One row per event that a subscription has yet to handle; the acknowledgement deletes it.
create table {{schema}}.delivery (
  subscription text not null,
  transfer_id  text collate "C" not null,
  sequence     integer not null,
  due_at       timestamptz not null default clock_timestamp(),
  failures     integer not null default 0,
  dead         boolean not null default false,
  last_error   text,
  primary key (subscription, transfer_id, sequence)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

create index delivery_due on {{schema}}.delivery (subscription, due_at, transfer_id, sequence) where not dead;

create table {{schema}}.account (
  account_id       text primary key,
  funds_arrived_at timestamptz,
  paused           boolean not null default false
);

-- Accounts whose credentials the service refused. While its row is here an account's transfers wait and one at a time probes.
create table {{schema}}.refused_account (
  account_id text primary key,
  since      timestamptz not null default clock_timestamp(),
  refusals   integer not null default 1,
  probe_at   timestamptz not null
);

-- Remote ids that were told of before any transfer had them: a webhook can be faster than the answer to the create.
create table {{schema}}.sighting (
  account_id text not null,
  remote_id  text not null,
  seen_at    timestamptz not null default clock_timestamp(),
  primary key (account_id, remote_id)
);

-- Virtual time of the dispatch: the greatest tag of a job that was fetched. One row.
create table {{schema}}.dispatch_clock (
  only_row boolean primary key default true check (only_row),
  tag      integer not null
);
insert into {{schema}}.dispatch_clock (tag) values (0);
