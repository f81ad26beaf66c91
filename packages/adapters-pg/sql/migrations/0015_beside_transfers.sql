-- What hosts note beside their transfers. A transfer without metadata has no row here and no entry in an index.
create table {{schema}}.transfer_metadata (
  transfer_id text collate "C" not null,
  name        text collate "C" not null,
  value       text collate "C" not null,
  primary key (transfer_id, name)
);
create index transfer_metadata_pair on {{schema}}.transfer_metadata (name, value, transfer_id);
comment on table {{schema}}.transfer_metadata is 'What hosts note beside their transfers: one row for each pair.';

-- Which transfer was enqueued in place of which one that had ended without a payment.
create table {{schema}}.resubmission (
  transfer_id  text collate "C" primary key,
  successor_id text collate "C" not null,
  created_at   timestamptz not null default clock_timestamp(),
  constraint resubmission_successor unique (successor_id)
);
comment on table {{schema}}.resubmission is 'Transfers that ended without a payment, and the one that each was resubmitted as.';
