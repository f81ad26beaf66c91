-- A person decides about returns that are held: resolve_return is new, and record_returns, timeline_of and the view of stuck transfers
-- leave out what is decided.
alter table {{schema}}.transfer_return
  add column resolved_at timestamptz,
  add column resolved_by text,
  add column resolution_note text;
comment on column {{schema}}.transfer_return.resolved_at is
  'When a person decided about it. It is an event then, with the amount that the person gave, or, while problem stays, it is dismissed.';
