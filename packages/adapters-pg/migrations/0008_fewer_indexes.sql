-- concurrently: each statement by itself, so that none holds anybody up however large the table is.
-- Every insert prepares the predicate of each partial index anew, so enqueues pay for their number.

-- Finds what the service does not have for certain and may still get. What was refused or canceled has no remote id either, and
-- there is more of it with every year, so it must not be read again and again. A status does not change at a claim.
create index concurrently transfer_open on {{schema}}.transfer (id) where remote_id is null and status = 'pending';

-- Finds what waits for its account: for credentials, for somebody to resume it, for its turn within limits, for funds.
create index concurrently transfer_held on {{schema}}.transfer (reason, account_id, id)
  where reason in ('unauthenticated', 'account_paused', 'account_limited', 'insufficient_balance');

-- Workers of release 0.1.0 find what these found by the new ones and by the primary key.
drop index concurrently if exists {{schema}}.transfer_unsubmitted;

drop index concurrently if exists {{schema}}.transfer_unauthenticated;
