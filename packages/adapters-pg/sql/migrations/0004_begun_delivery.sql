-- True once a process has committed that it begins to handle the event, until it is handled or has failed. Still true when a process
-- starts, and locked by nobody: an earlier process ended in the handler.
alter table {{schema}}.delivery add column begun boolean not null default false;

create index delivery_begun on {{schema}}.delivery (subscription) where begun;
