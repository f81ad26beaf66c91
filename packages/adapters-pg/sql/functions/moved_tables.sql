-- The tables whose rows go with a transfer, by the column `transfer_id`. Deliveries and the outbox go with it, too, and are found in another way. A slot of
-- an attempt is taken again with the next claim. What limits have counted is put into place before all of them. What is screened goes before the holds, whose end ends it.
create or replace function {{schema}}.moved_tables() returns text[] language sql immutable as $$
  select array['approval', 'screening', 'screening_answer', 'attempt', 'counterparty_details', 'event', 'hold', 'limit_pass', 'limit_refund', 'payment_watch', 'resubmission', 'return_report', 'return_window', 'trace_context',
    'transfer_creator', 'transfer_metadata', 'transfer_return', 'unauthorized_transfer', 'limit_charge']
$$;
