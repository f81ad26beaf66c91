-- True while nothing is ready or due in the outbox, and no job waits that lost its worker.
create or replace function {{schema}}.queue_is_empty() returns boolean language sql stable as $$
  select not exists (select from {{schema}}.outbox o where o.ready)
    and not exists (select from {{schema}}.outbox o where not o.ready and o.due_at <= now())
    and not exists (select from {{queue_table}} j where j.name = '{{queue}}' and j.state < 'active' and not j.blocked)
$$;
