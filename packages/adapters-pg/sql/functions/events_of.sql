create or replace function {{schema}}.events_of(p_transfer_id text) returns setof {{schema}}.event language sql stable as $$
  with stored as (
    select e.* from {{schema}}.event e where e.transfer_id = p_transfer_id
    union all
    select r.* from {{schema}}.transfer t join {{schema}}.archive a on a.page = t.archive_page
    cross join lateral jsonb_populate_recordset(null::{{schema}}.event, a.history -> t.id -> 'events') r where t.id = p_transfer_id
  )
  select s.* from stored s
  union all
  select t.id, 1, 'transfer.enqueued', 'queued', 'pending', null, null, null, 0, t.created_at, null
  from {{schema}}.transfer t where t.id = p_transfer_id and not exists (select from stored s where s.sequence = 1)
$$;
comment on function {{schema}}.events_of(text) is 'The events of one transfer, archived or not, unordered. The first one is that of its enqueue, stored or not.';
