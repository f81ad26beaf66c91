-- concurrently: the index of ids of an account at all gateways has a successor.
drop index concurrently if exists {{schema}}.transfer_remote_id;
