-- Makes due what waited for batches that were resumed, up to a number of transfers of each, and returns how many. A batch stays noted for some moments
-- after a worker first saw it: a claim that began during the pause may still defer one of its transfers.
create or replace function {{schema}}.wake_resumed_batches(p_limit integer) returns integer language plpgsql set lock_timeout = '250ms' as $$
declare
  v_batch record;
  v_count integer;
  v_total integer := 0;
begin
  for v_batch in
    select r.batch_id, r.seen_at, coalesce(r.seen_at < clock_timestamp() - interval '10 seconds', false) as is_over
    from {{schema}}.resumed_batch r order by r.batch_id for update skip locked
  loop
    if v_batch.seen_at is null then
      update {{schema}}.resumed_batch r set seen_at = clock_timestamp() where r.batch_id = v_batch.batch_id;
    end if;
    with waiting as materialized (
      select t.id from {{schema}}.transfer t
      where t.batch_id = v_batch.batch_id and t.reason = 'batch_paused' and t.stage = 'queued'
      order by t.id limit p_limit for no key update skip locked
    ), cleared as (
      update {{schema}}.transfer t set reason = null from waiting w where t.id = w.id returning t.id, t.not_before
    )
    select count(*), {{schema}}.queue_wake(array_agg({{schema}}.job_id(c.id)), array_agg(c.not_before), null)
    into v_count from cleared c;
    v_total := v_total + v_count;
    if v_count = 0 and v_batch.is_over then
      delete from {{schema}}.resumed_batch r where r.batch_id = v_batch.batch_id;
    end if;
  end loop;
  return v_total;
end
$$;
