create table if not exists customer (
  id text primary key,
  balance numeric(12, 2) not null
);

create table if not exists remittance (
  id text not null,
  customer_id text not null references customer (id),
  amount numeric(12, 2) not null,
  -- As the customer knows it. The details of a recipient's account are nowhere in these tables.
  recipient text not null,
  status text not null default 'on_its_way',
  transfer_id text not null unique,
  primary key (customer_id, id)
);
