-- Finds what waits for a paused account, for whoever resumes it and for the sweep behind a resume that crossed a claim.
create index transfer_paused on {{schema}}.transfer (account_id, id) where reason = 'account_paused';
