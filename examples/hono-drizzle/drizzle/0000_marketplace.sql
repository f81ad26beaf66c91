create table seller (
  id text primary key,
  bank_id text not null,
  balance numeric(12, 2) not null
);
--> statement-breakpoint
create table withdrawal (
  id text not null,
  seller_id text not null references seller (id),
  amount numeric(12, 2) not null,
  status text not null default 'on_its_way',
  transfer_id text not null unique,
  primary key (seller_id, id)
);
