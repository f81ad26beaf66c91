create table if not exists department (
  id text primary key,
  budget decimal(12, 2) not null
);

create table if not exists invoice (
  id text primary key,
  department_id text not null references department (id),
  bank_id text not null,
  amount decimal(12, 2) not null,
  status text not null default 'received',
  transfer_id text unique
);
