-- concurrently: finds the payments that another gateway was to take over and did not. A claim changes no column that it names and others do not.
-- The function end_failover is new; cancel_batch and hold_lookalikes have changed.
create index concurrently transfer_failover_ended on {{schema}}.transfer (id) where reason in ('failover_refused', 'failover_late');
