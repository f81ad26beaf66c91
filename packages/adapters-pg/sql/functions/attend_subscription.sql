-- Records that a process attends these types, unless the row is locked, and returns the types that any process has attended
-- within `p_within_ms`. It stores again what somebody has removed meanwhile.
create or replace function {{schema}}.attend_subscription(p_name text, p_types text[], p_within_ms bigint) returns text[] language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
begin
  if not exists (select 1 from {{schema}}.subscription s where s.name = p_name) then
    insert into {{schema}}.subscription (name, types) values (p_name, p_types) on conflict (name) do nothing;
  end if;
  update {{schema}}.subscription s
  set types = case when s.types @> p_types then s.types
        else array(select distinct x.type from unnest(s.types || p_types) as x (type) order by x.type) end,
      attended_at = v_at, attended = s.attended || (select jsonb_object_agg(x.type, v_at) from unnest(p_types) as x (type))
  where s.name = (select l.name from {{schema}}.subscription l where l.name = p_name for no key update skip locked);
  return (
    select array_agg(distinct x.type) from (
      select unnest(p_types)
      union all
      select a.key from {{schema}}.subscription s cross join lateral jsonb_each_text(s.attended) a
      where s.name = p_name and a.value::timestamptz > v_at - p_within_ms * interval '1 millisecond'
    ) x (type)
  );
end
$$;
