-- concurrently: finds the details of an address by its id, for policies that name counterparties. Functions: add_approval, expire_held, set_policies.
create index concurrently counterparty_address on {{schema}}.counterparty (address_id) where address_id is not null;
