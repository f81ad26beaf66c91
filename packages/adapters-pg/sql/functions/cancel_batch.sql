-- Closes a batch and ends those of its transfers that have no effect, as cancel() does. What has failed and waits to be handed over to another gateway stays failed.
-- Returns how many it canceled; null when there is no such batch.
create or replace function {{schema}}.cancel_batch(p_id text) returns integer language plpgsql as $$
declare
  v_locked text[];
  v_ids text[];
  v_sequences integer[];
begin
  -- Who hands over a transfer of it shares this row: either it sees the cancel, or what it has enqueued is seen from here on. Nor does an account that moves
  -- take a batch along that somebody is about to change.
  perform from {{schema}}.batch b where b.id = p_id for no key update;
  if not found then
    return null;
  end if;
  update {{schema}}.batch b set canceled_at = clock_timestamp() where b.id = p_id and b.canceled_at is null;
  insert into {{schema}}.closed_batch (batch_id) values (p_id) on conflict do nothing;
  -- In a snapshot also what may have a successor that is not seen here, so that it fails there.
  v_locked := array(
    select t.id from {{schema}}.transfer t
    where t.batch_id = p_id and (t.stage in ('held', 'queued', 'awaiting_funds', 'blocked')
      or t.status = 'failed' and t.reason = 'failover'
      or t.status <> 'complete' and current_setting('transaction_isolation') <> 'read committed') order by t.id for no key update);
  -- These alone: of a row that it does not hold, an update may read the log as it was before its last attempt.
  with canceled as (
    update {{schema}}.transfer t
    set stage = 'settled', status = 'canceled', reason = null, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    where t.id = any (v_locked) and t.stage in ('held', 'queued', 'awaiting_funds', 'blocked') and {{schema}}.effect_of(t) = 'none'
    returning t.id, t.event_sequence
  )
  select array_agg(c.id), array_agg(c.event_sequence) into v_ids, v_sequences from canceled c;
  perform {{schema}}.end_failover(t.id, null) from {{schema}}.transfer t
  where t.batch_id = p_id and t.status = 'failed' and t.reason = 'failover' order by t.id;
  if v_ids is null then
    return 0;
  end if;
  delete from {{schema}}.hold h where h.transfer_id = any (v_ids);
  perform {{schema}}.queue_remove(array(select {{schema}}.job_id(i.id) from unnest(v_ids) as i (id)));
  perform {{schema}}.record_events(v_ids, v_sequences, array_fill('transfer.canceled'::text, array[cardinality(v_ids)]));
  return cardinality(v_ids);
end
$$;
