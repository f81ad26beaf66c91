create or replace function {{schema}}.events_of(p_transfer_id text) returns setof {{schema}}.event language sql stable as $$
  select e.* from {{schema}}.event e where e.transfer_id = p_transfer_id
  union all
  select r.* from {{schema}}.transfer t join {{schema}}.archive a on a.page = t.archive_page
  cross join lateral jsonb_populate_recordset(null::{{schema}}.event, a.history -> t.id -> 'events') r where t.id = p_transfer_id
$$;
comment on function {{schema}}.events_of(text) is 'The events of one transfer, archived or not, unordered.';
