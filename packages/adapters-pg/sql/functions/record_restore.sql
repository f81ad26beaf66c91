-- Puts up the fence of a restore that no worker has recorded yet: what is compared behind it counts for those that start later.
create or replace function {{schema}}.record_restore() returns void language plpgsql as $$
declare
  v_here record;
begin
  select * into v_here from {{schema}}.database_identity();
  update {{schema}}.known_database h
  set timeline = v_here.timeline, fenced_since = least(h.fenced_since, h.seen_at, clock_timestamp()),
      fence_reason = coalesce(h.fence_reason, 'restored'), fence_id = gen_random_uuid()
  where {{schema}}.timeline_news(h, v_here.timeline, v_here.started_at) = 'restored';
end
$$;
