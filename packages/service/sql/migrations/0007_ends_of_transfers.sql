-- concurrently
-- When a transfer that is still pending ends by itself; null for never. It is emptied once the transfer is no longer pending.
alter table {{schema}}.transfer add column if not exists expires_at timestamptz;

create index concurrently transfer_by_expiry on {{schema}}.transfer (expires_at, id) where expires_at is not null;

-- A payment that waited for money and was canceled.
alter table {{schema}}.rail_payment drop constraint if exists rail_payment_state_check;

alter table {{schema}}.rail_payment add constraint rail_payment_state_check
  check (state in ('expected', 'accepted', 'settled', 'rejected', 'returned', 'canceled'));

-- Who keeps the keys of a wallet; null for every other address, and for a wallet that nobody keeps, which is never active again.
alter table {{schema}}.address add column if not exists custody text;

-- When the custodian is asked for the wallets of an account; null once they are there.
alter table {{schema}}.account add column if not exists wallets_at timestamptz;

create index concurrently account_without_wallets on {{schema}}.account (wallets_at) where wallets_at is not null;

-- When the reviewer is asked about an account; null once it has answered, or somebody has decided.
alter table {{schema}}.account add column if not exists review_at timestamptz;

create index concurrently account_to_review on {{schema}}.account (review_at) where review_at is not null;
