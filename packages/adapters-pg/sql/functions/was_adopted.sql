-- True of a transfer that the engine took on from the service. Hardly any needs the read: what has an attempt, or no id, was enqueued here.
create or replace function {{schema}}.was_adopted(p_id text) returns boolean language sql stable as $$
  select exists (select from {{schema}}.events_of(p_id) e where e.sequence = 1 and e.type = 'transfer.adopted')
$$;
