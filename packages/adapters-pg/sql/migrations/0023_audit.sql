-- Who did what: written in the transaction of each command, and never changed.
create table {{schema}}.audit (
  id          bigint generated always as identity primary key,
  at          timestamptz not null default clock_timestamp(),
  command     text not null,
  -- Null where the caller did not say.
  actor       text,
  reason      text,
  transfer_id text collate "C",
  before      jsonb,
  after       jsonb,
  -- The login that wrote it, and its transaction, whose order is not that of the ids.
  login       text not null,
  transaction xid8 not null default pg_current_xact_id()
);
create index audit_transfer on {{schema}}.audit (transfer_id, id) where transfer_id is not null;
comment on table {{schema}}.audit is 'Who did what, and why. Rows are only added.';

create trigger audit_only_added before update or delete on {{schema}}.audit for each row execute function {{schema}}.refuse_change();
create trigger policy_version_only_added before update or delete on {{schema}}.policy_version for each row execute function {{schema}}.refuse_change();
create trigger audit_not_emptied before truncate on {{schema}}.audit for each statement execute function {{schema}}.refuse_change();
create trigger policy_version_not_emptied before truncate on {{schema}}.policy_version for each statement execute function {{schema}}.refuse_change();
