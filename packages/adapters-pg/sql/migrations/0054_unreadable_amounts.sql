-- What the service says of a transfer that it made may have an amount that is none. Functions: amount_of is new; record_paid, apply_returns, resolve_return, count_part,
-- record_found_transfers, record_unmatched_transfers and adopt_lost use it, or keep such a transfer with its problem.
comment on column {{schema}}.transfer.paid is
  'What was paid, where that is another amount than was asked for: amount, when the service had last changed the transfer, and when it was seen here. Without an amount: when it said the same amount last.';
