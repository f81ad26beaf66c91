create table {{schema}}.webhook_registration (
  id text primary key,
  account_id text not null references {{schema}}.account (id) on delete cascade,
  url text not null,
  event_types text[] not null,
  status text not null check (status in ('active', 'disabled')),
  disabled_reason text,
  secret text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

comment on column {{schema}}.webhook_registration.secret is 'sealed';

create index webhook_registration_account on {{schema}}.webhook_registration (account_id);

create table {{schema}}.webhook_event (
  id text primary key,
  account_id text not null,
  type text not null,
  body text not null,
  created_at timestamptz not null
);

comment on column {{schema}}.webhook_event.body is 'the exact octets that every delivery sends';

create index webhook_event_account on {{schema}}.webhook_event (account_id, id);

create table {{schema}}.webhook_delivery (
  id bigint generated always as identity primary key,
  registration_id text not null references {{schema}}.webhook_registration (id) on delete cascade,
  event_id text not null references {{schema}}.webhook_event (id) on delete cascade,
  account_id text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed', 'canceled')),
  attempts smallint not null default 0,
  next_attempt_at timestamptz not null default '-infinity',
  last_attempt_at timestamptz,
  last_status smallint,
  last_error text,
  created_at timestamptz not null
) with (fillfactor = 80);

create index webhook_delivery_due on {{schema}}.webhook_delivery (next_attempt_at, id) where status = 'pending';

create index webhook_delivery_account on {{schema}}.webhook_delivery (account_id, id);

create index webhook_delivery_event on {{schema}}.webhook_delivery (event_id);

create index webhook_delivery_registration on {{schema}}.webhook_delivery (registration_id);
