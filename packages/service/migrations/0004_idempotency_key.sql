create table {{schema}}.idempotency_key (
  client_id text not null,
  idempotency_key text not null,
  fingerprint text not null,
  response_status smallint,
  response_body text,
  response_sealed boolean not null default false,
  created_at timestamptz not null,
  primary key (client_id, idempotency_key)
) with (fillfactor = 80);

create index idempotency_key_created_at on {{schema}}.idempotency_key using brin (created_at);
