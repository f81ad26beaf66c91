-- What rails report, each fact once, written before it is applied. A fact that cannot be applied is an exception until a person has
-- resolved it.

create table {{schema}}.rail_fact (
  id text primary key,
  kind text not null check (kind in ('expected', 'accepted', 'settled', 'rejected', 'returned', 'canceled', 'deposit', 'opened', 'unreadable')),
  -- The rail or chain of the reference; null where the service does not know it.
  rail text,
  -- The rail's own: a chain hash, an IMAD, a trace number; of an opened account, its automation.
  reference text not null,
  -- The transfer that the fact names, or that a deposit became.
  transfer_id text,
  -- The account that the fact names, or whose virtual account received the deposit.
  account_id text,
  amount_value numeric,
  amount_currency text,
  -- SHA-256 of everything that the fact says, in hexadecimal: a fact that is reported again has the same.
  fingerprint text not null unique,
  -- What the rail said, without account numbers.
  payload jsonb not null,
  received_at timestamptz not null,
  applied_at timestamptz,
  exception_reason text,
  resolved_at timestamptz,
  resolved_by text,
  resolution text check (resolution in ('applied', 'dismissed')),
  resolution_note text,
  check (num_nonnulls(resolved_at, resolved_by, resolution) in (0, 3)),
  check (resolved_at is null or exception_reason is not null)
) with (fillfactor = 85);

create index rail_fact_of_transfer on {{schema}}.rail_fact (transfer_id, id) where transfer_id is not null;
create index rail_fact_open_exception on {{schema}}.rail_fact (id) where exception_reason is not null and resolved_at is null;

-- A payment that arrives at a wallet or a virtual account is credited once.
create unique index rail_fact_deposit on {{schema}}.rail_fact (rail, reference) where kind = 'deposit' and exception_reason is null;

-- Facts name transfers and accounts that need not exist, so they are nobody's but the system's.
alter table {{schema}}.rail_fact enable row level security, force row level security;
create policy system on {{schema}}.rail_fact using (current_setting('outlay.system', true) = 'on');

-- A deposit whose reference was used for another one waits for a person.
alter table {{schema}}.rail_deposit
  drop constraint rail_deposit_verdict_check,
  add constraint rail_deposit_verdict_check check (verdict in ('credited', 'returned', 'held'));

-- What came back of complete transfers. Its id is that of the fact, and of the posting.
create table {{schema}}.transfer_return (
  id text primary key,
  transfer_id text not null,
  account_id text not null,
  code text not null,
  amount_value numeric not null check (amount_value > 0),
  amount_currency text not null,
  occurred_at timestamptz not null,
  created_at timestamptz not null
);

create index transfer_return_of_transfer on {{schema}}.transfer_return (transfer_id, id);

-- What an account owes, because money came back that its wallet did not have any more. An address of the account for each.
create table {{schema}}.receivable (
  account_id text not null,
  address_id text not null,
  value_type text not null,
  transfer_type text not null,
  amount numeric not null check (amount >= 0),
  -- True while the account may not send until it is paid.
  blocks_sends boolean not null,
  since timestamptz not null,
  primary key (account_id, address_id, value_type, transfer_type)
);

alter table {{schema}}.ledger_account
  drop constraint ledger_account_kind_check,
  add constraint ledger_account_kind_check check (kind in ('custodial', 'issuer', 'settlement', 'outside', 'receivable')),
  drop constraint ledger_account_has_owner,
  add constraint ledger_account_has_owner
    check ((kind in ('custodial', 'receivable')) = (account_id <> '' and address_id <> ''));

alter table {{schema}}.transfer_return enable row level security, force row level security;
create policy tenant on {{schema}}.transfer_return using (current_setting('outlay.system', true) = 'on' or (
  select true from {{schema}}.client_account c
   where c.client_id = current_setting('outlay.client_id', true) and c.account_id = transfer_return.account_id
));
alter table {{schema}}.receivable enable row level security, force row level security;
create policy tenant on {{schema}}.receivable using (current_setting('outlay.system', true) = 'on' or (
  select true from {{schema}}.client_account c
   where c.client_id = current_setting('outlay.client_id', true) and c.account_id = receivable.account_id
));
