-- concurrently: two gateways may give one id to two transfers of an account. The index of before goes in a migration of its own, since a
-- migration that was interrupted makes its indexes again.
create unique index concurrently transfer_gateway_remote_id on {{schema}}.transfer (remote_id, account_id, gateway) where remote_id is not null;
-- Finds what waits for a gateway that is stopped or that no worker has.
create index concurrently transfer_gateway_held on {{schema}}.transfer (gateway, id) where reason = 'gateway_held';
