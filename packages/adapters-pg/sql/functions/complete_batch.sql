-- Completes a closed batch in which everything has ended, with its event, and returns true; at most once. Nobody may be about to enqueue into it. The
-- event is one of its newest transfer that no other transaction has locked: events are those of transfers. The caller has locked the batch,
-- in a transaction of read committed: in another one it may not see who has just entered it, so nothing is completed there.
create or replace function {{schema}}.complete_batch(p_id text) returns boolean language plpgsql as $$
declare
  v_member text;
  v_sequence integer;
begin
  if current_setting('transaction_isolation') <> 'read committed' or not pg_try_advisory_xact_lock({{schema}}.batch_lock(p_id)) then
    return false;
  end if;
  -- What committed before the lock is seen from here on. A batch may have very many transfers, so what keeps it is read from the few that do, each by its key.
  if exists (select from {{schema}}.batch_change x where x.batch_id = p_id)
    or exists (select from {{schema}}.batch_count n where n.batch_id = p_id and n.unended <> 0)
    -- Of what has ended in doubt, a person or an acceptance has yet to say whether it was paid.
    or exists (
      select from {{schema}}.attempt a cross join lateral (
        select from {{schema}}.transfer t where t.id = a.transfer_id and t.batch_id = p_id and {{schema}}.ended_in_doubt(t) offset 0) t
      where a.unmatched is not null and a.unmatched)
    -- What another gateway is about to take over gets a successor in this batch.
    or exists (select from {{schema}}.batch_count n where n.batch_id = p_id and n.failed > 0)
      and exists (
        select from {{schema}}.delivery d cross join lateral (
          select from {{schema}}.transfer t where t.id = d.transfer_id and t.batch_id = p_id and t.status = 'failed' and t.reason = 'failover' offset 0) t
        where d.subscription = 'outlay.failover' and not d.dead) then
    return false;
  end if;
  select t.id into v_member from {{schema}}.transfer t where t.batch_id = p_id order by t.id desc limit 1 for no key update skip locked;
  if v_member is null and exists (select from {{schema}}.transfer t where t.batch_id = p_id) then
    return false;
  end if;
  update {{schema}}.batch b set completed_at = clock_timestamp() where b.id = p_id and b.completed_at is null;
  if v_member is not null and found then
    update {{schema}}.transfer t set event_sequence = t.event_sequence + 1 where t.id = v_member returning t.event_sequence into v_sequence;
    perform {{schema}}.record_events(array[v_member], array[v_sequence], array['batch.completed']);
  end if;
  return true;
end
$$;
