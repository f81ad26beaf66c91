-- What programs of the public contract send and read beside the specification.

alter table {{schema}}.account
  add column account_type text check (account_type in ('custodial', 'transactional')),
  add column entity_type text check (entity_type in ('business', 'individual'));

alter table {{schema}}.address
  -- A wallet that a client has asked for, beside those that its account has anyway.
  add column additional boolean not null default false,
  -- Whose an external address is, as the client says.
  add column ownership text check (ownership in ('self-owned', 'customer-owned'));

-- Attempts of webhook deliveries whose result is known.
create table {{schema}}.webhook_delivery_attempt (
  id bigint generated always as identity primary key,
  delivery_id bigint not null references {{schema}}.webhook_delivery (id) on delete cascade,
  account_id text not null,
  attempt_number smallint not null,
  status text not null check (status in ('delivered', 'failed')),
  -- HTTP status of the answer; null when there was none.
  status_code smallint,
  error text,
  attempted_at timestamptz not null,
  unique (delivery_id, attempt_number)
);

create index webhook_delivery_attempt_of_account on {{schema}}.webhook_delivery_attempt (account_id, id desc);

alter table {{schema}}.webhook_delivery_attempt enable row level security, force row level security;
create policy tenant on {{schema}}.webhook_delivery_attempt using (current_setting('outlay.system', true) = 'on' or (
  select true from {{schema}}.client_account c
   where c.client_id = current_setting('outlay.client_id', true) and c.account_id = webhook_delivery_attempt.account_id
));
