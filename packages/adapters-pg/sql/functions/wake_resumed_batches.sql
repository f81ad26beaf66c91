-- Makes due what waited for batches that were resumed, up to a number of transfers of each, and returns how many. It goes on behind the last ones, and
-- begins again where there are no further ones: a claim that began during the pause may still defer one of the first. So a batch stays noted for some
-- moments after a worker first saw it, and until a whole pass has found nothing.
create or replace function {{schema}}.wake_resumed_batches(p_limit integer) returns integer language plpgsql set lock_timeout = '250ms' as $$
declare
  v_batch record;
  v_count integer;
  v_last text;
  v_total integer := 0;
begin
  for v_batch in
    select r.batch_id, r.woken_to, coalesce(r.seen_at < clock_timestamp() - interval '10 seconds', false) as is_over
    from {{schema}}.resumed_batch r
    -- Somebody has paused it while another transaction resumed it: what is woken would only wait again.
    where not exists (select from {{schema}}.paused_batch p where p.batch_id = r.batch_id)
    order by r.batch_id for update skip locked
  loop
    with waiting as materialized (
      select t.id from {{schema}}.transfer t
      where t.batch_id = v_batch.batch_id and t.id > coalesce(v_batch.woken_to, '') and t.reason = 'batch_paused' and t.stage = 'queued'
      order by t.id limit p_limit for no key update skip locked
    ), cleared as (
      update {{schema}}.transfer t set reason = null from waiting w where t.id = w.id returning t.id, t.not_before
    )
    select count(*), max(c.id), {{schema}}.queue_wake(array_agg({{schema}}.job_id(c.id)), array_agg(c.not_before), null)
    into v_count, v_last from cleared c;
    v_total := v_total + v_count;
    -- One that a host has locked for longer is still to be woken.
    if v_count = 0 and v_batch.woken_to is null and v_batch.is_over and not exists (
      select from {{schema}}.transfer t where t.batch_id = v_batch.batch_id and t.reason = 'batch_paused' and t.stage = 'queued') then
      delete from {{schema}}.resumed_batch r where r.batch_id = v_batch.batch_id;
    else
      v_last := case when v_count = p_limit then v_last end;
      update {{schema}}.resumed_batch r set woken_to = v_last, seen_at = coalesce(r.seen_at, clock_timestamp())
      where r.batch_id = v_batch.batch_id and (r.seen_at is null or r.woken_to is distinct from v_last);
    end if;
  end loop;
  return v_total;
end
$$;
