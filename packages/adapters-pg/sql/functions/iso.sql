create or replace function {{schema}}.iso(p_at timestamptz) returns text language sql stable parallel safe as $$
  select to_char(p_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
