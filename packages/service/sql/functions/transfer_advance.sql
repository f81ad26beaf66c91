-- Moves a transfer forward and moves its money in one round trip. Returns the row afterwards, or nothing when the transfer does
-- not exist or its status is not in p_from. While a failure is retriable, the transfer may leave it and keeps its hold. The status
-- after a failure gets a later time than the failure, even if the rails use another clock, so the two times show a reader which
-- one was last.
create or replace function {{schema}}.transfer_advance(
  p_id text, p_from text[], p_to text, p_failure jsonb, p_reference text, p_now timestamptz
) returns setof {{schema}}.transfer language plpgsql as $$
declare
  v_transfer {{schema}}.transfer;
begin
  update {{schema}}.transfer t
     set status = p_to,
         failure = p_failure,
         reference = coalesce(t.reference, p_reference),
         source_transaction_id = case when t.reference_legs in ('source', 'both')
           then coalesce(t.source_transaction_id, p_reference) else t.source_transaction_id end,
         destination_transaction_id = case when t.reference_legs in ('destination', 'both')
           then coalesce(t.destination_transaction_id, p_reference) else t.destination_transaction_id end,
         updated_at = greatest(
           p_now,
           t.updated_at,
           (t.failure ->> 'occurredAt')::timestamptz + interval '1 millisecond'
         )
   where t.id = p_id and t.status = any (p_from)
     and (t.status <> 'failed' or coalesce((t.failure ->> 'retriable')::boolean, false))
  returning t.* into v_transfer;
  if not found then
    return;
  end if;
  if p_to = 'complete' then
    perform {{schema}}.ledger_apply(p_id, 'post', v_transfer.plan -> 'post');
  elsif p_to = 'canceled' or (p_to = 'failed' and not coalesce((p_failure ->> 'retriable')::boolean, false)) then
    perform {{schema}}.ledger_apply(p_id, 'void', v_transfer.plan -> 'void');
  end if;
  return next v_transfer;
end
$$;
