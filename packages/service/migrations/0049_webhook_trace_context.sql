-- The trace in which an event happened, so that its deliveries go on with it; null without telemetry.
alter table {{schema}}.webhook_event add column traceparent text;

comment on column {{schema}}.webhook_event.traceparent is 'the W3C context of the span that recorded it';
