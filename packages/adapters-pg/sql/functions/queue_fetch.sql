-- Makes due jobs active, in the order of dispatch, and returns them with how often each was fetched before and the last place in that order.
--
-- A job that waited, for a retry, a pause, funds or its time, has a tag that the virtual time has passed. A whole account may come back at
-- once, so these get half of each fetch while others are due, or all others would wait for all of them. Of that half, some are the latest:
-- a second attempt of another account does not wait for the backlog either.
--
-- It finds jobs as pg-boss's own fetch finds them for a queue of the standard policy. pg-boss sends that as text without a name,
-- planned for each run, which takes four times as long as running it. A kept plan could be one from when the tables were empty, so
-- the caller's settings hold it to the index with the jobs in the order of dispatch.
create or replace function {{schema}}.queue_fetch(p_limit integer, out jobs uuid[], out retry_counts integer[], out tag bigint)
language plpgsql as $$
declare
  v_job uuid;
  v_retry_count integer;
  v_now bigint;
  v_late uuid[];
  v_new uuid[];
  v_latest uuid[] := '{}';
begin
  select c.tag into v_now from {{schema}}.dispatch_clock c;
  v_late := array(
    select j.id from {{queue_table}} j
    where j.name = '{{queue}}' and j.state < 'active' and not j.blocked and j.start_after <= now() and j.priority >= -v_now
    order by j.priority desc, j.created_on limit p_limit
    for update of j skip locked);
  v_new := array(
    select j.id from {{queue_table}} j
    where j.name = '{{queue}}' and j.state < 'active' and not j.blocked and j.start_after <= now() and j.priority < -v_now
    -- Of a single one, each kind gets half of the turns.
    order by j.priority desc, j.created_on limit greatest(p_limit - cardinality(v_late), (p_limit + (random() < 0.5)::integer) / 2)
    for update of j skip locked);
  if cardinality(v_late) >= p_limit then
    v_latest := array(
      select j.id from {{queue_table}} j
      where j.name = '{{queue}}' and j.state < 'active' and not j.blocked and j.start_after <= now() and j.priority >= -v_now
        and j.id <> all (v_late)
      order by j.priority, j.created_on desc limit least((p_limit + floor(random() * 4)::integer) / 4, p_limit - cardinality(v_new))
      for update of j skip locked);
  end if;
  jobs := v_late[1 : p_limit - cardinality(v_new) - cardinality(v_latest)] || v_latest || v_new;
  -- One by one, as queue_remove() does.
  foreach v_job in array jobs loop
    update {{queue_table}} j
    set state = 'active', started_on = now(), heartbeat_on = now(),
        retry_count = case when j.started_on is not null then j.retry_count + 1 else j.retry_count end
    where j.name = '{{queue}}' and j.id = v_job
    returning j.retry_count, greatest(queue_fetch.tag, -j.priority) into v_retry_count, tag;
    retry_counts := retry_counts || v_retry_count;
  end loop;
end
$$;
