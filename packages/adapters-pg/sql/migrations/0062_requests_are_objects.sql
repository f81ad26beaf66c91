-- Refuses a request that a driver has encoded as JSON once more: it would be read as a text, and so by no worker. Not valid, so that no row is read behind
-- the lock; no release validates it, since an old row that breaks it would hold the upgrade up.
alter table {{schema}}.transfer add constraint transfer_request_is_an_object check (jsonb_typeof(request) = 'object') not valid;
