-- A process takes only events of the types that its own handler asked for, so a delivery says its type.
alter table {{schema}}.delivery add column type text;
update {{schema}}.delivery d set type = e.type from {{schema}}.event e where e.transfer_id = d.transfer_id and e.sequence = d.sequence;
drop index {{schema}}.delivery_due;
create index delivery_due on {{schema}}.delivery (subscription, type, due_at, transfer_id, sequence) where not dead;

-- When a process last attended the subscription, and each of its types. Written at most once a minute by each process.
alter table {{schema}}.subscription add column attended_at timestamptz;
alter table {{schema}}.subscription add column attended jsonb not null default '{}';
