-- Which one this database is, among those over which a host spreads its accounts. Empty where the host has one database.
create table {{schema}}.shard_node (
  only_row boolean primary key default true check (only_row),
  name text not null,
  named_at timestamptz not null default clock_timestamp()
);

-- Accounts that were here and are on another node: nothing is enqueued for them here, whatever a cache of routes still says.
create table {{schema}}.departed_account (
  account_id text primary key,
  to_node text not null,
  -- That of the account in the directory when it left.
  version bigint not null,
  departed_at timestamptz not null default clock_timestamp()
);
