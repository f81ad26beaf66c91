-- Counts of transfers by hour and by day, added up by workers. No transaction of a host reads or writes these tables.
create table {{schema}}.transfer_count (
  -- part: five minutes, kept until its hour can no longer change; hour; day. Hours and days are those of UTC.
  span            text collate "C" not null,
  began_at        timestamptz not null,
  -- Empty for all accounts together.
  account_id      text collate "C" not null,
  gateway         text collate "C" not null,
  currency        text collate "C" not null,
  enqueued        bigint not null,
  completed       bigint not null,
  failed          bigint not null,
  canceled        bigint not null,
  blocked         bigint not null,
  enqueued_value  numeric not null,
  completed_value numeric not null,
  -- How many took how long: "12" stands for 2^(12/4) milliseconds and more, and less than 2^(13/4).
  accepted_in     jsonb not null,
  ended_in        jsonb not null,
  primary key (span, began_at, account_id, gateway, currency)
);
comment on table {{schema}}.transfer_count is 'How many transfers were enqueued and ended, by time.';

-- How far they are added up: one row, which workers lock and never wait for.
create table {{schema}}.transfer_count_progress (
  only_one   boolean primary key default true check (only_one),
  began_at   timestamptz not null,
  counted_to timestamptz not null,
  days_to    timestamptz not null,
  -- The first transaction that had not begun at that time. All that it and later ones write is of later parts.
  mark       xid8,
  marked_at  timestamptz
);

-- Parts that were counted while transactions ran that may have written something of them, and those transactions.
create table {{schema}}.transfer_count_open (
  began_at     timestamptz primary key,
  transactions xid8[] not null
);
