-- For how many milliseconds a subscription, or any of these types of it, still counts as attended: two minutes after the last record of
-- a process, each of which writes one a minute. A record of a clock that was far ahead does not count.
create or replace function {{schema}}.attended_for(p_name text, p_types text[]) returns integer language sql as $$
  select greatest(0, 120000 - abs(extract(epoch from clock_timestamp() - a.at) * 1000))::integer from (
    select case when p_types is null then s.attended_at
      else (select max(t.value::timestamptz) from jsonb_each_text(s.attended) t where t.key = any (p_types)) end as at
    from {{schema}}.subscription s where s.name = p_name
  ) a where a.at is not null
$$;
