-- concurrently
-- When a transfer that is still pending ends by itself; null for never. It is emptied once the transfer is no longer pending.
alter table {{schema}}.transfer add column if not exists expires_at timestamptz;

create index concurrently transfer_by_expiry on {{schema}}.transfer (expires_at, id) where expires_at is not null;

-- A payment that waited for money and was canceled.
alter table {{schema}}.rail_payment drop constraint if exists rail_payment_state_check;

alter table {{schema}}.rail_payment add constraint rail_payment_state_check
  check (state in ('expected', 'accepted', 'settled', 'rejected', 'returned', 'canceled'));
