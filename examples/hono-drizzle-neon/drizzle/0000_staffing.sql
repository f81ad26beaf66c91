create table worker (
  id text primary key,
  bank_id text not null,
  pay_per_hour numeric(12, 2) not null
);
--> statement-breakpoint
create table shift (
  id text primary key,
  worker_id text not null references worker (id),
  minutes integer not null check (minutes > 0),
  amount numeric(12, 2) not null,
  -- When the payment may leave.
  pays_at timestamptz not null,
  status text not null default 'scheduled',
  transfer_id text not null unique
);
