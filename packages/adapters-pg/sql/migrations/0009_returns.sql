-- Money of complete transfers that came back, one row for each return. Every report of the service has all returns of its transfer, so
-- the identity makes a repeat the same row.
create table {{schema}}.transfer_return (
  transfer_id text collate "C" not null,
  -- The content of the return, and its number among those with the same content.
  identity    text collate "C" not null,
  code        text not null,
  -- Null where the service does not say.
  amount      numeric,
  currency    text,
  occurred_at timestamptz,
  seen_at     timestamptz not null default clock_timestamp(),
  -- Of its event; null while the completion is not known here, and for one that is held.
  sequence    integer,
  -- Why it is held: not_complete, amount_unknown, other_currency or exceeds_transfer. Null for all others.
  problem     text,
  primary key (transfer_id, identity)
);
create index transfer_return_waiting on {{schema}}.transfer_return (transfer_id) where sequence is null and problem is null;
create index transfer_return_held on {{schema}}.transfer_return (seen_at) where problem is not null;
comment on table {{schema}}.transfer_return is
  'Money of complete transfers that came back. Null in sequence: it waits for the completion, or is held for the reason in problem.';

-- What came back, as handlers get it; null for every other event.
alter table {{schema}}.event add column returned jsonb;
