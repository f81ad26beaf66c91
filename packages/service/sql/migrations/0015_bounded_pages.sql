-- concurrently: pages of lists with a filter that few rows pass.
create index concurrently address_wallets on {{schema}}.address (account_id, id) where type = 'internal';

create index concurrently address_of_account_at on {{schema}}.address (account_id, address_normal, id) where address_normal <> '';

-- In the place of those without the id: in its order, a page ends where it is full.
create index concurrently webhook_delivery_of_event on {{schema}}.webhook_delivery (event_id, id);

create index concurrently webhook_delivery_of_registration on {{schema}}.webhook_delivery (registration_id, id);
