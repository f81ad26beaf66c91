-- Transfers, their events, their attempts, and what stands beside them. Functions and views are in files of their own.

-- Domains, because the checks of a table are prepared anew for every insert and those of a domain are not.
create domain {{schema}}.stage as text
  check (value in ('queued', 'submitting', 'awaiting_funds', 'submitted', 'blocked', 'settled'));
create domain {{schema}}.status as text
  check (value in ('pending', 'processing', 'failed', 'canceled', 'complete'));

-- Its pages keep room for the next versions of their rows, which then need no new entries in the indexes: a claim changes no
-- column that one of them names.
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
  polls           integer not null default 0,
  next_poll_at       timestamptz,
  unknown_since   timestamptz,
  not_before      timestamptz,
  expires_at      timestamptz,
  -- What is sent as the idempotency key, from the first attempt on.
  submission_key  text,
  -- As whom the last request left; null when none has left.
  client          text,
  -- The environment of the gateway that the transfer was enqueued for; null when that declared none.
  environment     text,
  -- When a person released it while an outcome was unknown; null once that attempt has an answer.
  released_at     timestamptz,
  -- When the service says that the current status was reached.
  reached_at      timestamptz,
  -- No index has it, so an update of it alone changes none.
  archive_page    bigint,
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp(),
  constraint transfer_key unique (account_id, idempotency_key)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- One transfer of an account for each id at the service, which is what an id means.
create unique index transfer_remote_id on {{schema}}.transfer (remote_id, account_id) where remote_id is not null;
-- No index names the stage: a claim then changes no index at all.
create index transfer_next_poll on {{schema}}.transfer (next_poll_at) where next_poll_at is not null;
-- Finds what the service does not have for certain and may still get. What was refused or canceled has no remote id either, and
-- there is more of it with every year, so it must not be read again and again. A status does not change at a claim.
create index transfer_open on {{schema}}.transfer (id) where remote_id is null and status = 'pending';
-- Finds what waits for its account: for credentials, for somebody to resume it, for its turn within limits, for funds.
create index transfer_held on {{schema}}.transfer (reason, account_id, id)
  where reason in ('unauthenticated', 'account_paused', 'account_limited', 'insufficient_balance');

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

-- An attempt is changed once, when its answer is there.
create table {{schema}}.attempt (
  transfer_id text collate "C" not null,
  attempt     integer not null,
  worker      text not null,
  -- What it did: null for the transfer itself, 'registration' for its counterparty, which moves no money.
  step        text,
  claimed_at  timestamptz not null default clock_timestamp(),
  answered_at timestamptz,
  outcome     text,
  detail      text,
  http_status integer,
  request_id  text,
  -- The transfer's id at the service, by an answer that accepted it, by a reconciliation or by a person.
  remote_id   text,
  -- The service accepted it under that id, and the transfer has another one, or none. False when a person has dealt with that.
  unmatched   boolean,
  primary key (transfer_id, attempt)
) with (fillfactor = 50);
-- There are hardly any, and an answer in time changes no column that this names.
create index attempt_unmatched on {{schema}}.attempt (transfer_id) where unmatched is not null;

-- Both tables grow in the order of time, so a few bytes per range of pages find what is recent.
create index event_occurred on {{schema}}.event using brin (occurred_at) with (pages_per_range = 16, autosummarize = on);
create index attempt_claimed on {{schema}}.attempt using brin (claimed_at) with (pages_per_range = 16, autosummarize = on);

create table {{schema}}.subscription (
  name        text primary key,
  types       text[] not null,
  -- When a process last attended the subscription, and each of its types. Written at most once a minute by each process.
  attended_at timestamptz,
  attended    jsonb not null default '{}',
  created_at  timestamptz not null default clock_timestamp()
);

-- One row per event that a subscription has yet to handle; the acknowledgement deletes it. A process takes only events of the
-- types that its own handler asked for.
create table {{schema}}.delivery (
  subscription text not null,
  transfer_id  text collate "C" not null,
  sequence     integer not null,
  type         text not null,
  account_id   text collate "C" not null,
  due_at       timestamptz not null default clock_timestamp(),
  -- False while it is deferred, until a worker finds it due: accounts without a ready event are never read in the search for the next.
  ready        boolean not null default true,
  failures     integer not null default 0,
  dead         boolean not null default false,
  last_error   text,
  primary key (subscription, transfer_id, sequence)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

create index delivery_ready on {{schema}}.delivery (subscription, type, account_id, due_at, transfer_id, sequence) where ready and not dead;
create index delivery_deferred on {{schema}}.delivery (subscription, due_at) where not ready and not dead;
create index delivery_dead on {{schema}}.delivery (subscription, transfer_id, sequence) where dead;

create table {{schema}}.account (
  account_id       text primary key,
  funds_arrived_at timestamptz,
  paused           boolean not null default false,
  rate_per_second  double precision,
  concurrency      integer,
  weight           double precision not null default 1
);

-- The table has a row for each account whose funds have ever arrived; claims and enqueues check those few.
create index account_paused on {{schema}}.account (account_id) where paused;
create index account_limited on {{schema}}.account (account_id) where rate_per_second is not null or concurrency is not null;
create index account_weighted on {{schema}}.account (account_id) where weight <> 1;

-- Accounts that are limited or slowed down, once they have sent something. Written by workers alone: a host's transaction that
-- stays open holds no claim up.
create table {{schema}}.account_throttle (
  account_id text primary key,
  -- When the next submission may go; what is not used is saved up for a quarter of a second.
  next_at    timestamptz,
  -- Something waits for its turn.
  waiting    boolean not null default false,
  waited_at  timestamptz,
  -- What the service left after a 429, in submissions per second; null when it asked for nothing.
  rate       double precision,
  throttled_until timestamptz,
  changed_at timestamptz,
  version    integer not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- One row per submission under way of an account with a bound on those.
create table {{schema}}.submission_slot (
  transfer_id text collate "C" primary key,
  account_id  text not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index submission_slot_account on {{schema}}.submission_slot (account_id);

-- As whom each account's transfers were sent last, so that a claim can write it down without asking.
create table {{schema}}.account_client (
  account_id text primary key,
  client     text not null
);

-- Accounts whose credentials the service refused. While its row is here an account's transfers wait and one at a time probes.
create table {{schema}}.unauthorized_account (
  account_id text primary key,
  since      timestamptz not null default clock_timestamp(),
  refusals   integer not null default 1,
  probe_at   timestamptz not null,
  -- Where the probes of an account have come to: the next one is the transfer behind it.
  probed_id  text collate "C"
);

-- One row per transfer whose request was refused for its credentials and not taken since. What the service refuses to one while
-- it takes others of the same account is no matter of the account.
create table {{schema}}.unauthorized_transfer (
  transfer_id text collate "C" primary key,
  account_id  text not null,
  -- How often it was refused although others had passed since the refusal before.
  refusals    integer not null default 0,
  -- Another one of the account has passed since the last refusal.
  passed      boolean not null default false
);
create index unauthorized_transfer_account on {{schema}}.unauthorized_transfer (account_id);

-- Details of a counterparty, per transfer that pays it. The row is deleted when the transfer has the id of its address.
create table {{schema}}.counterparty_details (
  transfer_id   text collate "C" primary key,
  account_id    text not null,
  fingerprint   text not null,
  details       jsonb not null,
  -- Since when it is not known whether the service has registered it.
  unknown_since timestamptz
);

-- One row per counterparty of an account: the key that registers it at the service, and its address there once that is known.
create table {{schema}}.counterparty (
  account_id      text not null,
  fingerprint     text not null,
  idempotency_key text not null,
  address_id      text,
  created_at      timestamptz not null default clock_timestamp(),
  primary key (account_id, fingerprint)
);

-- Remote ids that were reported before any transfer had them: a webhook can be faster than the answer to the create.
create table {{schema}}.early_observation (
  account_id text not null,
  remote_id  text not null,
  seen_at    timestamptz not null default clock_timestamp(),
  primary key (account_id, remote_id)
);

-- Accounts whose transfers of others are adopted. Everything that the service created up to `seen_to` was met; a reading of
-- the list that is not finished has a cursor, and began with a transfer that the service created at `reading_from`.
create table {{schema}}.watched_account (
  account_id   text primary key,
  since        timestamptz not null,
  seen_to      timestamptz not null,
  cursor       text,
  reading_from timestamptz,
  idle         integer not null default 0,
  next_poll_at      timestamptz not null default clock_timestamp()
);
create index watched_account_due on {{schema}}.watched_account (next_poll_at);

-- Transfers of watched accounts that were seen at the service and that no row stands for, until it is certain that none will.
create table {{schema}}.found_transfer (
  account_id text not null,
  remote_id  text not null,
  seen_at    timestamptz not null default clock_timestamp(),
  automated  boolean not null,
  transfer   jsonb not null,
  -- Why it could not be adopted; null where nobody has tried in vain.
  problem    text,
  primary key (account_id, remote_id)
);

-- Accounts whose lists are being read for polls, from the newest transfer to the oldest, by one worker at a time.
create table {{schema}}.list_reading (
  account_id   text primary key,
  cursor       text,
  -- Pages that may still be read without meeting a transfer that is due.
  patience     integer not null,
  leased_until timestamptz not null
);

-- The history of transfers that ended long ago, many to a row, so that it compresses well. A transfer itself stays where it is,
-- and with it its key: what was enqueued once is refused or found again for ever.
create table {{schema}}.archive (
  page        bigint generated always as identity primary key,
  transfers   integer not null,
  archived_at timestamptz not null default clock_timestamp(),
  -- By transfer id: {"events": […], "attempts": […]}, each with the columns that its row had.
  history     jsonb not null
);

-- The trace that a transfer was enqueued in, for hosts with telemetry; without it nothing is written here and nothing read.
-- A table of its own, because the rows of transfers are rewritten at every step and would carry it along.
create table {{schema}}.trace_context (
  transfer_id text collate "C" primary key,
  traceparent text not null
);
comment on table {{schema}}.trace_context is
  'The W3C traceparent of the enqueue of a transfer. A row whose transfer is gone means nothing.';

-- Virtual time of the dispatch: the greatest tag of a job that was fetched. One row.
create table {{schema}}.dispatch_clock (
  only_row boolean primary key default true check (only_row),
  tag      integer not null
);
insert into {{schema}}.dispatch_clock (tag) values (0);

-- The server and the database that workers last worked in, and the deployment and environment they belong to. One row, written when
-- workers first start. A copy has it too: what it says is not true there.
create table {{schema}}.known_database (
  only_row          boolean primary key default true check (only_row),
  system_identifier text,
  database_oid      bigint not null,
  database_name     text not null,
  timeline          bigint not null,
  deployment        text,
  environment       text check (environment in ('testnet', 'mainnet')),
  recorded_at       timestamptz not null default clock_timestamp(),
  -- When a worker was last here: what was streamed to a standby that runs is younger than its start.
  seen_at           timestamptz not null default clock_timestamp(),
  adopted_by        text,
  adopted_reason    text,
  -- Set while nothing may be sent until the service has been asked what it has.
  fenced_since      timestamptz,
  fence_reason      text,
  fenced_by         text
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
comment on table {{schema}}.known_database is
  'Server, database, deployment and environment that workers last worked in; null in fenced_since when transfers may be sent.';

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
