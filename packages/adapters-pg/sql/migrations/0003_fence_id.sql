-- Which fence it is. A reconciliation lifts only the one behind which it compared, and another one may have the same `fenced_since`.
alter table {{schema}}.known_database add column fence_id uuid;

update {{schema}}.known_database set fence_id = gen_random_uuid() where fenced_since is not null;
