-- What is known of a transfer's effect at the service, from its row and its log together. All that ends a transfer, sends its request
-- again as another one, or forgets its log asks here:
-- none: nothing of it is there, and nothing under way will be
-- unknown: something may be
-- known: the service has it under its id, and accepted it under no other
-- conflicting: the service accepted it under an id that it has not got
create or replace function {{schema}}.effect_of(p_transfer {{schema}}.transfer) returns text language sql stable as $$
  select case
    when exists (
      select 1 from {{schema}}.attempt a
      where a.transfer_id = p_transfer.id and a.unmatched and a.remote_id is distinct from p_transfer.remote_id) then 'conflicting'
    when p_transfer.remote_id is not null then 'known'
    when p_transfer.unknown_since is not null or p_transfer.stage = 'submitting'
      -- A reconciliation blocked it, so it may be there although this database knows of no attempt; or its id was given to another one.
      or p_transfer.reason in ('reconcile', 'remote_id_taken')
      -- It has ended here, and may have been sent before a restore.
      or p_transfer.stage = 'settled' and ({{schema}}.ended_unseen(p_transfer) or {{schema}}.ended_in_doubt(p_transfer)) then 'unknown'
    when exists (
      select 1 from {{schema}}.attempt a
      where a.transfer_id = p_transfer.id and (
        -- The service has its key for another request, and that one may have paid. Rows of earlier code say so only in the log.
        a.step is null and a.attempt = p_transfer.attempt and a.outcome = 'key_mismatch'
        or {{schema}}.may_still_arrive(a, p_transfer))) then 'unknown'
    else 'none' end
$$;
