-- Which transfer was enqueued in place of which one that had ended without a payment.
create table {{schema}}.resubmission (
  transfer_id  text collate "C" primary key,
  successor_id text collate "C" not null,
  created_at   timestamptz not null default clock_timestamp(),
  constraint resubmission_successor unique (successor_id)
);
comment on table {{schema}}.resubmission is 'Transfers that ended without a payment, and the one that each was resubmitted as.';
