-- The node of each account. A row is written once, and changes only where an account moves.
create table {{schema}}.account (
  account_id text primary key,
  node text not null,
  -- Grows with each change of the row, so that an older reading never replaces a newer one.
  version bigint not null default 1,
  -- Where a move stands; the account is at `node` until the move has switched it.
  state text not null default 'settled' check (state in ('settled', 'leaving', 'copying', 'arriving')),
  to_node text,
  changed_at timestamptz not null default clock_timestamp(),
  check ((state = 'settled') = (to_node is null)),
  check (to_node <> node)
);

create index account_moving on {{schema}}.account (account_id) where state <> 'settled';

create or replace trigger count_change before update on {{schema}}.account
for each row execute function {{schema}}.count_change();

create or replace trigger announce_change after update or delete on {{schema}}.account
for each row execute function {{schema}}.announce_change();
