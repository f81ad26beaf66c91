-- Transfers whose own requests the service refuses, and which transfer of an account was the last probe.

-- Where the probes of an account have come to: the next one is the transfer behind it.
alter table {{schema}}.refused_account add column probed_id text collate "C";

-- One row per transfer whose request was refused for its credentials and not taken since. What the service refuses to one while
-- it takes others of the same account is no matter of the account.
create table {{schema}}.refused_transfer (
  transfer_id text collate "C" primary key,
  account_id  text not null,
  -- How often it was refused although others had passed since the refusal before.
  refusals    integer not null default 0,
  -- Another one of the account has passed since the last refusal.
  passed      boolean not null default false
);
create index refused_transfer_account on {{schema}}.refused_transfer (account_id);

-- They answer with more than before.
drop function if exists {{schema}}.take(text[], uuid[], text);
drop function if exists {{schema}}.fetch_and_take(integer, text);
drop function if exists {{schema}}.settle(jsonb);
drop function if exists {{schema}}.configure_account(text, jsonb);
drop function if exists {{schema}}.enqueue_many(
  text[], uuid[], text[], text[], text[], text[], integer[], integer[], boolean, timestamptz[], timestamptz[]);
