-- Transfers that are held until people act, and the policies that hold them. The new stage is not checked against what is stored, which
-- would lock the transfers: every earlier stage is one of the new ones.
alter domain {{schema}}.stage drop constraint stage_check;
alter domain {{schema}}.stage add constraint stage_check
  check (value in ('held', 'queued', 'submitting', 'awaiting_funds', 'submitted', 'blocked', 'settled')) not valid;

-- Why a transfer is not sent, until somebody acts. A row goes with that act.
create table {{schema}}.hold (
  transfer_id    text collate "C" not null,
  -- approval, limit, operator or screening.
  name           text not null,
  -- The policy that asked for it; empty where none did.
  policy         text not null default '',
  policy_version integer,
  why            text not null,
  -- Who put it on hold; null where a policy did.
  actor          text,
  -- What has to be approved, as it was then.
  requirement    jsonb,
  since          timestamptz not null default clock_timestamp(),
  primary key (transfer_id, name, policy)
);
comment on table {{schema}}.hold is 'Why transfers are held. A transfer without one is sent.';

-- Who created a transfer, where the host says so.
create table {{schema}}.transfer_creator (
  transfer_id text collate "C" primary key,
  created_by  text not null
);

-- Who approved a transfer. The rows stay. Somebody has two where a step became due after the first.
create table {{schema}}.approval (
  transfer_id text collate "C" not null,
  actor       text not null,
  roles       text[] not null,
  note        text,
  approved_at timestamptz not null default clock_timestamp(),
  primary key (transfer_id, actor, approved_at)
);

-- Every version of the policies.
create table {{schema}}.policy_version (
  version  integer primary key,
  -- Unlike the number it is never used again, also after a rollback or a restore.
  tag      text not null,
  policies jsonb not null,
  actor    text not null,
  reason   text not null,
  set_at   timestamptz not null default clock_timestamp()
);

-- The version that holds. No row, where there are no policies: then an enqueue reads an empty table.
create table {{schema}}.policy_state (
  only_row boolean primary key default true check (only_row),
  version  integer not null references {{schema}}.policy_version,
  tag      text not null
);

-- Each enqueue and each repeat reads these two, so whoever may read subscriptions for that may read them from here on, before the roles are granted anew.
do $$
declare
  v_role text;
begin
  for v_role in
    select distinct case when a.grantee = 0 then 'public' else a.grantee::regrole::text end
    from pg_class c cross join lateral aclexplode(c.relacl) a
    where c.oid = '{{schema}}.subscription'::regclass and a.privilege_type = 'SELECT' and a.grantee <> c.relowner
  loop
    execute format('grant select on {{schema}}.policy_state, {{schema}}.transfer_creator to %s', v_role);
  end loop;
end
$$;
