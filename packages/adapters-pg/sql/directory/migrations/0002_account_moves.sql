-- Moves of accounts between nodes. The row decides: before it is `switched` the account is at `from_node`, and from then on at `to_node`.
create table {{schema}}.account_move (
  -- Greater than any version that somebody has written by hand.
  id          bigint generated always as identity (start with 1000000) primary key,
  account_id  text not null,
  from_node   text not null,
  to_node     text not null,
  state       text not null default 'leaving' check (state in ('leaving', 'switched', 'done', 'returning', 'returned')),
  actor       text,
  reason      text,
  -- Transfers that it took along.
  transfers   bigint,
  began_at    timestamptz not null default clock_timestamp(),
  -- From when and until when nothing could be enqueued for the account.
  paused_at   timestamptz,
  switched_at timestamptz,
  resumed_at  timestamptz,
  ended_at    timestamptz,
  check (from_node <> to_node),
  check ((state in ('done', 'returned')) = (ended_at is not null))
);

-- One at a time.
create unique index account_move_open on {{schema}}.account_move (account_id) where ended_at is null;
