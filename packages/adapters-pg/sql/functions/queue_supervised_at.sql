-- When a running engine supervised the queue last; null when none ever did.
create or replace function {{schema}}.queue_supervised_at() returns timestamptz language sql stable as $$
  select greatest(q.monitor_claim_on, q.monitor_on) from {{queue_info}} q where q.name = '{{queue}}'
$$;
