-- The tables whose rows go with a transfer, by the column `transfer_id`. Deliveries and the outbox go with it, too, and are found in another way. A slot of
-- an attempt is taken again with the next claim.
create or replace function {{schema}}.moved_tables() returns text[] language sql immutable as $$
  select array['approval', 'attempt', 'counterparty_details', 'event', 'hold', 'resubmission', 'return_report', 'return_window', 'trace_context',
    'transfer_creator', 'transfer_metadata', 'transfer_return', 'unauthorized_transfer']
$$;
