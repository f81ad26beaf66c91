-- Transfers that wait to be screened, and every answer about one.

-- One row for each transfer that has a hold for screening, made and deleted with that hold.
create table {{schema}}.screening (
  transfer_id   text collate "C" primary key,
  account_id    text collate "C" not null,
  -- When it is asked about next. While a worker asks, the end of its lease.
  due_at        timestamptz not null,
  -- Counts the calls: a pass counts only when it is that of the last one.
  asks          integer not null default 0,
  -- Calls in a row that gave no answer.
  failures      integer not null default 0,
  failing_since timestamptz,
  last_error    text,
  -- An answer holds it, perhaps under a case: nobody asks until somebody ends that.
  on_hold       boolean not null default false,
  case_id       text
);
create index screening_due on {{schema}}.screening (account_id, due_at, transfer_id) where not on_hold;
create index screening_failing on {{schema}}.screening (failing_since) where failing_since is not null;
comment on table {{schema}}.screening is 'Transfers that wait to be screened, or for the answer about a case.';

-- Answers. The rows are only added.
create table {{schema}}.screening_answer (
  transfer_id text collate "C" not null,
  number      integer not null,
  result      text not null check (result in ('pass', 'hold', 'refuse')),
  case_id     text,
  note        text,
  -- The worker that asked, or the actor of a later answer.
  given_by    text not null,
  -- False where it changed nothing.
  counted     boolean not null,
  -- Of the request that was screened.
  fingerprint text not null,
  answered_at timestamptz not null default clock_timestamp(),
  primary key (transfer_id, number)
);
comment on table {{schema}}.screening_answer is 'Answers of screenings of transfers.';
create trigger screening_answer_only_added before update on {{schema}}.screening_answer for each row execute function {{schema}}.refuse_change();
create trigger screening_answer_not_emptied before truncate on {{schema}}.screening_answer for each statement execute function {{schema}}.refuse_change();

-- Who may read approvals to say what holds a transfer may read these from here on, before the roles are granted anew.
do $$
declare
  v_role text;
begin
  for v_role in
    select distinct case when a.grantee = 0 then 'public' else a.grantee::regrole::text end
    from pg_class c cross join lateral aclexplode(c.relacl) a
    where c.oid = '{{schema}}.approval'::regclass and a.privilege_type = 'SELECT' and a.grantee <> c.relowner
  loop
    execute format('grant select on {{schema}}.screening, {{schema}}.screening_answer to %s', v_role);
  end loop;
end
$$;
