-- concurrently: finds the held transfers whose time to be sent has passed.
create index concurrently transfer_held_until on {{schema}}.transfer (expires_at) where stage = 'held' and expires_at is not null;
