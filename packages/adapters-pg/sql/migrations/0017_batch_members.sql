-- concurrently: finds the transfers of a batch.
create index concurrently transfer_batch on {{schema}}.transfer (batch_id, id) where batch_id is not null;
