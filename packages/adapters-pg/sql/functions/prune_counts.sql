-- Deletes counts of hours after sixty days, and of days after two years. Returns how many it deleted.
create or replace function {{schema}}.prune_counts(p_at timestamptz, p_limit integer) returns integer language sql set lock_timeout = '2s' as $$
  with old as (
    delete from {{schema}}.transfer_count c where c.ctid = any (array(
      (select x.ctid from {{schema}}.transfer_count x where x.span = 'hour' and x.began_at < coalesce(p_at, clock_timestamp()) - interval '60 days'
        and x.began_at < (select p.days_to from {{schema}}.transfer_count_progress p) limit p_limit)
      union all
      (select x.ctid from {{schema}}.transfer_count x where x.span = 'day' and x.began_at < coalesce(p_at, clock_timestamp()) - interval '2 years' limit p_limit)))
    returning 1
  )
  select count(*)::integer from old
$$;
