-- concurrently: finds the transfer whose log has an id at the service.
create index concurrently attempt_unmatched_id on {{schema}}.attempt (unmatched_id) where unmatched_id is not null;
