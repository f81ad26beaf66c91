create or replace view {{schema}}.account_backlog as
select b.* from {{schema}}.account_backlog_of(null) b;
comment on view {{schema}}.account_backlog is
  'Unsettled transfers per account and gateway, and accounts that are paused or have limits. Reads live transfers only.';
comment on column {{schema}}.account_backlog.rate_per_second is 'Most submissions per second; null for no limit.';
comment on column {{schema}}.account_backlog.concurrency is 'Most submissions under way at once; null for no limit.';
comment on column {{schema}}.account_backlog.weight is 'Share in the order of dispatch, relative to the 1 of others.';
comment on column {{schema}}.account_backlog.lowered_rate is
  'Submissions per second while the engine throttles it after a 429; null when it is not throttled.';
comment on column {{schema}}.account_backlog.throttled_until is 'Until when the service asked for a pause; null when that is over.';
comment on column {{schema}}.account_backlog.oldest_unsubmitted_at is
  'When the oldest transfer was enqueued that the service may not have, those not counted that people hold.';
comment on column {{schema}}.account_backlog.held is 'Transfers that people have to approve or release.';
