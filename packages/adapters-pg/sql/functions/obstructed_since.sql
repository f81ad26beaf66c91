-- Since when no request for a transfer has got through, by its log: the first attempt after the last one that did.
create or replace function {{schema}}.obstructed_since(p_id text) returns timestamptz language sql stable as $$
  select min(a.claimed_at) from {{schema}}.attempt a
  where a.transfer_id = p_id and a.attempt > coalesce((
    select max(g.attempt) from {{schema}}.attempt g
    where g.transfer_id = p_id and g.answered_at is not null
      and (g.outcome not in ('throttled', 'stopped') or g.http_status is not null)), 0)
$$;
