-- concurrently: the indexes of deliveries without their ids have successors.
drop index concurrently if exists {{schema}}.webhook_delivery_event;
drop index concurrently if exists {{schema}}.webhook_delivery_registration;
