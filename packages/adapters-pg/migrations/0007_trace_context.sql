-- The trace that a transfer was enqueued in, for hosts with telemetry; without it nothing is written here and nothing read.
-- A table of its own, because the rows of transfers are rewritten at every step and would carry it along.
create table {{schema}}.trace_context (
  transfer_id text collate "C" primary key,
  traceparent text not null
);
comment on table {{schema}}.trace_context is
  'The W3C traceparent of the enqueue of a transfer. A row whose transfer is gone means nothing.';
