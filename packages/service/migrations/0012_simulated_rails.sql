-- State of the simulated rails. A deployment with rails of its own leaves these tables empty.

create table {{schema}}.simulation_clock (
  singleton boolean primary key default true check (singleton),
  offset_ms bigint not null default 0 check (offset_ms >= 0)
);

insert into {{schema}}.simulation_clock default values;

-- Handed out in blocks of a thousand.
create sequence {{schema}}.rail_reference_block increment by 1000;

create table {{schema}}.rail_payment (
  transfer_id text primary key,
  account_id text not null,
  reference text not null unique,
  state text not null check (state in ('expected', 'accepted', 'settled', 'rejected', 'returned')),
  -- What happens next, and when in virtual time; null when nothing does by itself.
  next_state text check (next_state in ('accepted', 'settled', 'rejected', 'returned')),
  next_at timestamptz,
  failure jsonb,
  -- The flow and the rails of both legs: enough to time and to describe what comes.
  route jsonb not null,
  source jsonb,
  destination jsonb,
  check ((next_state is null) = (next_at is null))
);

create index rail_payment_due on {{schema}}.rail_payment (next_at) where next_at is not null;
