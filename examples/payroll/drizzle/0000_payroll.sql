create table "company" (
  "id" uuid primary key default gen_random_uuid(),
  "name" text not null,
  "account_id" text not null unique,
  "wallet_id" text not null
);
--> statement-breakpoint
create table "employee" (
  "id" uuid primary key default gen_random_uuid(),
  "company_id" uuid not null references "company" ("id"),
  "rail" text not null,
  "address_id" text not null,
  "salary" numeric(12, 2) not null
);
--> statement-breakpoint
create table "payroll_run" (
  "id" uuid primary key default gen_random_uuid(),
  "company_id" uuid not null references "company" ("id"),
  "period" text not null,
  "created_at" timestamptz not null default now(),
  unique ("company_id", "period")
);
--> statement-breakpoint
create table "payslip" (
  "id" uuid primary key default gen_random_uuid(),
  "run_id" uuid not null references "payroll_run" ("id"),
  "employee_id" uuid not null references "employee" ("id"),
  "amount" numeric(12, 2) not null,
  "transfer_id" text unique,
  "status" text not null default 'payable',
  "reason" text,
  "awaited_funds_at" timestamptz,
  "settlements" integer not null default 0,
  unique ("run_id", "employee_id")
);
--> statement-breakpoint
create index "payslip_run_id_index" on "payslip" ("run_id");
