create or replace function {{schema}}.logged_attempts_of(p_transfer_id text) returns setof {{schema}}.attempt language sql stable as $$
  select a.* from {{schema}}.attempt a where a.transfer_id = p_transfer_id
  union all
  select r.* from {{schema}}.transfer t join {{schema}}.archive a on a.page = t.archive_page
  cross join lateral jsonb_populate_recordset(null::{{schema}}.attempt, a.history -> t.id -> 'attempts') r where t.id = p_transfer_id
$$;
comment on function {{schema}}.logged_attempts_of(text) is 'The attempts of one transfer as they were logged, archived or not, unordered.';
