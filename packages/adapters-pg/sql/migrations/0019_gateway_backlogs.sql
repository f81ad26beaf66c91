-- concurrently: what waits for its account, and what is polled, is searched for at one gateway. What waits at another must not be read for that.
create index concurrently transfer_gateway_waiting on {{schema}}.transfer (reason, account_id, gateway, id)
  where reason in ('unauthenticated', 'account_paused', 'account_limited', 'insufficient_balance');
create index concurrently transfer_gateway_poll on {{schema}}.transfer (gateway, next_poll_at) where next_poll_at is not null;
create index concurrently return_window_closed on {{schema}}.return_window (closed_at) where closed_at is not null;
