-- Who created what a transfer was resubmitted in place of is known while its account moves. What a driver had stored as a text before the database refused that is blocked alone, and goes
-- with its account to another node. Functions: earlier_creators and repair_requests are new; lock_claimable has changed.
create index moved_row_successor on {{schema}}.moved_row (account_id, (content #>> '{0,successor_id}')) where kind = 'resubmission';
-- A transaction has begun before what it enqueues, so that is an object as before. Older rows may be changed. Not valid, so that none is read behind the lock.
alter table {{schema}}.transfer drop constraint transfer_request_is_an_object;
alter table {{schema}}.transfer add constraint transfer_request_is_an_object
  check (jsonb_typeof(request) = 'object' or created_at < transaction_timestamp()) not valid;
