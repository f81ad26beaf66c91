create table if not exists purchase (
  id text primary key,
  -- Id of the customer's bank account at the service.
  bank_id text not null,
  total numeric(12, 2) not null,
  refunded numeric(12, 2) not null default 0
);

create table if not exists refund (
  id text not null,
  purchase_id text not null references purchase (id),
  amount numeric(12, 2) not null,
  status text not null default 'on_its_way',
  transfer_id text not null unique,
  primary key (purchase_id, id)
);
