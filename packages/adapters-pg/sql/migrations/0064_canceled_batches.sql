-- A batch that was canceled takes no successor from a fail-over; one that was only closed does.
alter table {{schema}}.batch add column canceled_at timestamptz;
comment on column {{schema}}.batch.canceled_at is 'When somebody canceled it. Null also for batches that were canceled before there was this column.';
