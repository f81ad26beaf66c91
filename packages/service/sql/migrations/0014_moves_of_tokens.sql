-- concurrently: pages of mints, burns and moves of tokens.
create index concurrently transfer_by_flow on {{schema}}.transfer (account_id, flow, id desc);
