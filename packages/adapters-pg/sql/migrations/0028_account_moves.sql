-- Where an account stands that leaves, has left, arrives or has come back. Nothing is enqueued for it here unless it is `here`.
alter table {{schema}}.departed_account add column state text not null default 'departed'
  check (state in ('leaving', 'packed', 'returning', 'departed', 'arriving', 'here'));
comment on column {{schema}}.departed_account.state is
  'leaving and packed on the node that an account leaves, arriving on the one that it comes to, returning where a move goes back; then departed, or here.';
comment on column {{schema}}.departed_account.version is 'The move that wrote this row; a later one is greater.';

-- What an account has, taken out of the tables of one node and not yet put into those of another. No worker reads it.
create table {{schema}}.moved_row (
  account_id text collate "C" not null,
  -- The table that it is of.
  kind       text collate "C" not null,
  -- The transfer that it is of; of what is of no transfer, a text of its own.
  key        text collate "C" not null,
  -- The row, or the rows of that transfer as a list.
  content    jsonb not null,
  primary key (account_id, kind, key)
);
create index moved_row_transfer on {{schema}}.moved_row (key) where kind = 'transfer';
comment on table {{schema}}.moved_row is 'Rows of accounts that move between nodes; empty when none does.';
