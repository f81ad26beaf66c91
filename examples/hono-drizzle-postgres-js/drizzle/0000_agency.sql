create table employee (
  id text primary key,
  role text not null,
  bank_id text not null
);
--> statement-breakpoint
create table expense (
  id text primary key,
  employee_id text not null references employee (id),
  amount numeric(12, 2) not null,
  status text not null,
  -- Who approved or rejected it; null where nobody had to.
  decided_by text references employee (id),
  transfer_id text not null unique
);
