-- What is sent, as whom, and what a person let go: so that an unknown outcome ends by proof, and no key is sent to anybody to
-- whom it is new. Earlier code must not send beside this one, since it takes answers for proof that are none.

alter table {{schema}}.transfer
  -- What is sent as the idempotency key, from the first attempt on. Null with attempts: earlier code sent the host's key.
  add column submission_key text,
  -- As whom the last request left; null when none has left, or when earlier code sent it.
  add column client text,
  -- When a person released it while an outcome was unknown; null once that attempt has an answer.
  add column released_at timestamptz;

-- As whom each account's transfers were sent last, so that a claim can write it down without asking.
create table {{schema}}.account_client (
  account_id text primary key,
  client     text not null
);

-- Their answers have other columns from now on.
drop function if exists {{schema}}.fetch_and_take(integer, text);
drop function if exists {{schema}}.take(text[], uuid[], text);
drop function if exists {{schema}}.begin_attempts(text[], text);
drop function if exists {{schema}}.attempts_of(text);
