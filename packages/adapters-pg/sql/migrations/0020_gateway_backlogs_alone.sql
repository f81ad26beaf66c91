-- concurrently: the indexes of what waits or is polled at all gateways have successors.
drop index concurrently if exists {{schema}}.transfer_held;
drop index concurrently if exists {{schema}}.transfer_next_poll;
comment on table {{schema}}.stop is
  'While a row is here no request begins for what it names: everything, one gateway, or an account. Other gateways go on.';
