-- The counts of these accounts, the empty one for all together, in hours or days between two full ones. Each span is one probe of the index, however many accounts
-- there are. What is not yet an hour or a day is there as what it consists of.
create or replace function {{schema}}.find_counts(p_step text, p_from timestamptz, p_to timestamptz, p_account_ids text[], p_gateway text)
returns setof {{schema}}.transfer_count language sql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
  with progress as (
    select p.days_to, least(p_to, p.counted_to) - interval '1 microsecond' as last_at, coalesce((
      select min(c.began_at) from {{schema}}.transfer_count c where c.span = 'part'), p.counted_to) as parts_from
    from {{schema}}.transfer_count_progress p
  ), spans (span, began_at) as (
    select 'day', g.at from progress p
    cross join lateral generate_series(p_from, least(p.last_at, p.days_to - interval '1 microsecond'), interval '24 hours') as g (at) where p_step = 'day'
    union all
    select 'hour', g.at from progress p
    cross join lateral generate_series(case p_step when 'day' then greatest(p_from, p.days_to) else p_from end, p.last_at, interval '1 hour') as g (at)
    union all
    select 'part', g.at from progress p cross join lateral generate_series(greatest(p_from, p.parts_from), p.last_at, interval '5 minutes') as g (at)
  )
  select c.* from spans s cross join lateral (
    select c.* from {{schema}}.transfer_count c
    where c.span = s.span and c.began_at = s.began_at and c.account_id = any (p_account_ids) and (p_gateway is null or c.gateway = p_gateway) offset 0) c
$$;
