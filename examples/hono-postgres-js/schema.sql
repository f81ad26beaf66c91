create table merchant (
  id text primary key,
  -- Id of the merchant's bank account at the service.
  bank_id text not null
);

create table day (
  id text primary key,
  -- What the card schemes have paid us for this day, in dollars.
  received numeric(12, 2) not null,
  batch_id text unique,
  settled_at timestamptz
);

create table sale (
  id bigint generated always as identity primary key,
  day_id text not null references day (id),
  merchant_id text not null references merchant (id),
  amount numeric(12, 2) not null
);

create table settlement (
  day_id text not null references day (id),
  merchant_id text not null references merchant (id),
  amount numeric(12, 2) not null,
  status text not null default 'on_its_way',
  transfer_id text not null unique,
  primary key (day_id, merchant_id)
);
