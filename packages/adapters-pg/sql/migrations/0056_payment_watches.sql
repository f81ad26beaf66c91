-- What is compared with other transfers before it is sent, where a policy asks for that. The enqueue cannot see what a transaction that is still open has written.
create table {{schema}}.payment_watch (
  transfer_id    text collate "C" not null,
  policy         text not null,
  policy_version integer not null,
  -- The hold that it gets where it looks like another one.
  name           text not null,
  why            text not null,
  requirement    jsonb,
  -- How far apart the two may be enqueued.
  days           integer not null,
  -- Currencies of the same worth as that of the transfer.
  currencies     text[] not null,
  primary key (transfer_id, policy)
);
comment on table {{schema}}.payment_watch is 'Which transfers are compared with others before they are sent, for policies about transfers that are alike.';

-- As for holds: nobody writes one that asks for less than its policy. Functions: policy_facts, other_facts, payment_facts, payment_ref, payment_refs, find_lookalike,
-- has_payment_indexes, record_watches and hold_lookalikes are new; enqueue_one_with and enqueue_many_with write watches; charge_fetched, charge_claimed compare them.
create trigger payment_watch_asks_as_policy before insert on {{schema}}.payment_watch for each row when (new.requirement is not null)
execute function {{schema}}.check_hold();

-- Whoever may write holds may write these from here on, before the roles are granted anew.
do $$
declare
  v_role text;
begin
  for v_role in
    select distinct case when a.grantee = 0 then 'public' else a.grantee::regrole::text end
    from pg_class c cross join lateral aclexplode(c.relacl) a
    where c.oid = '{{schema}}.hold'::regclass and a.privilege_type = 'INSERT' and a.grantee <> c.relowner
  loop
    execute format('grant insert on {{schema}}.payment_watch to %s', v_role);
  end loop;
end
$$;
