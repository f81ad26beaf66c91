-- concurrently: the indexes of what waits or is polled at all gateways have successors.
drop index concurrently if exists {{schema}}.transfer_held;
drop index concurrently if exists {{schema}}.transfer_next_poll;
