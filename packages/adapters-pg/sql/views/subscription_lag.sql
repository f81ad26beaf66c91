create or replace view {{schema}}.subscription_lag as
select s.name, s.types,
  coalesce(d.undelivered, 0)::integer as undelivered, coalesce(d.failing, 0)::integer as failing,
  coalesce(d.dead_letters, 0)::integer as dead_letters, d.oldest_at, now() - d.oldest_at as lag, f.last_error, s.created_at,
  s.attended_at
from {{schema}}.subscription s
left join (
  select d.subscription, count(*) filter (where not d.dead) as undelivered,
    count(*) filter (where not d.dead and d.failures > 0) as failing, count(*) filter (where d.dead) as dead_letters,
    min(e.occurred_at) filter (where not d.dead) as oldest_at
  from {{schema}}.delivery d
  join {{schema}}.event e on e.transfer_id = d.transfer_id and e.sequence = d.sequence
  group by d.subscription
) d on d.subscription = s.name
left join lateral (
  select x.last_error from {{schema}}.delivery x where x.subscription = s.name and x.last_error is not null
  order by x.due_at desc limit 1
) f on d.failing > 0 or d.dead_letters > 0;
comment on view {{schema}}.subscription_lag is 'How far each subscription is behind. A dead letter defers later events of its transfer.';
comment on column {{schema}}.subscription_lag.undelivered is 'Events that it has yet to handle, dead letters not counted.';
comment on column {{schema}}.subscription_lag.failing is 'Those of them whose handler has failed at least once.';
comment on column {{schema}}.subscription_lag.oldest_at is 'When the oldest event that it has yet to handle was recorded.';
comment on column {{schema}}.subscription_lag.attended_at is 'When a process last attended it, to the minute; null before the first.';
comment on column {{schema}}.subscription_lag.last_error is 'What its handler failed with last, among events that are still there.';
