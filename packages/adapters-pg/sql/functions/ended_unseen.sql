-- True of a transfer that ended here behind the fence without an answer of the service, and that no reconciliation has found the like of
-- since: it may have been sent before the restore.
create or replace function {{schema}}.ended_unseen(p_transfer {{schema}}.transfer) returns boolean language sql stable as $$
  select p_transfer.stage = 'settled' and p_transfer.remote_id is null
    and (p_transfer.status = 'canceled' or p_transfer.failure ->> 'type' = 'expired')
    and exists (select 1 from {{schema}}.known_database h where h.fenced_since <= p_transfer.updated_at)
    and not exists (select 1 from {{schema}}.attempt a where a.transfer_id = p_transfer.id and a.unmatched is not null)
$$;
