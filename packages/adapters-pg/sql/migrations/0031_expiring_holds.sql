-- concurrently: finds the held transfers whose time to be sent has passed. Without the stage, which changes with each claim: an index that had it would keep each of
-- these updates from staying in its page.
create index concurrently transfer_expiring on {{schema}}.transfer (expires_at) where status = 'pending' and expires_at is not null;
