-- Adopt: transfers of others become transfers here.
-- Replaced as a whole when it changes; never change a signature, add a new name instead.

-- Keeps in mind what was seen of transfers that no row stands for, if the account is watched. The first sight of each counts.
create or replace function {{schema}}.note_found(p_account_id text, p_found jsonb) returns integer language plpgsql as $$
declare
  v_count integer;
begin
  insert into {{schema}}.found_transfer as f (account_id, remote_id, automated, transfer)
  select p_account_id, n.remote_id, n.automated, n.transfer
  from jsonb_to_recordset(p_found) as n (remote_id text, automated boolean, created_at timestamptz, transfer jsonb)
  join {{schema}}.watched_account w on w.account_id = p_account_id and w.since <= n.created_at
  where not exists (
    select 1 from {{schema}}.transfer t where t.remote_id = n.remote_id and t.account_id = p_account_id
  )
  order by n.remote_id
  -- What could not be adopted as it was may be whole this time.
  on conflict (account_id, remote_id) do update set automated = excluded.automated, transfer = excluded.transfer, problem = null
  where f.problem is not null;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- Makes transfers of what was found under these accounts and ids, and answers with the ids of the new rows. The caller has locked
-- what was found. One that cannot be written fails the call.
create or replace function {{schema}}.adopt_all(p_account_ids text[], p_remote_ids text[]) returns text[] language plpgsql as $$
declare
  v_ids text[];
  v_event_ids text[];
  v_sequences integer[];
  v_types text[];
begin
  with taken as (
    delete from {{schema}}.found_transfer f using unnest(p_account_ids, p_remote_ids) as r (account_id, remote_id)
    where f.account_id = r.account_id and f.remote_id = r.remote_id
    returning f.account_id, f.remote_id, f.transfer
  ), adopted as (
    insert into {{schema}}.transfer (id, account_id, idempotency_key, fingerprint, request, stage, status, failure, remote_id,
      event_sequence, reached_at, follow_at)
    select n.id, k.account_id, n.key, n.fingerprint, n.request, n.stage, n.status, nullif(n.failure, 'null'::jsonb), k.remote_id,
      cardinality(n.events), n.reached_at, case when n.stage = 'submitted' then clock_timestamp() end
    from taken k cross join lateral jsonb_to_record(k.transfer) as n (
      id text, key text, fingerprint text, request jsonb, stage text, status text, failure jsonb, reached_at timestamptz,
      events text[])
    on conflict do nothing
    returning id, account_id, remote_id
  ), told as (
    select a.id, e.ordinality::integer as sequence, e.type
    from adopted a join taken k on k.account_id = a.account_id and k.remote_id = a.remote_id
    cross join lateral jsonb_array_elements_text(k.transfer -> 'events') with ordinality as e (type, ordinality)
  )
  select (select array_agg(a.id) from adopted a), array_agg(t.id), array_agg(t.sequence), array_agg(t.type)
  into v_ids, v_event_ids, v_sequences, v_types
  from told t;
  if v_event_ids is not null then
    perform {{schema}}.record_events(v_event_ids, v_sequences, v_types);
  end if;
  return coalesce(v_ids, '{}');
end
$$;

-- The same one by one where something in it cannot be written: that stays where it was found, with its problem, and is not tried
-- again as it is. Answers with one row for each new transfer, and for each problem one without an id.
create or replace function {{schema}}.adopt_noted(p_account_ids text[], p_remote_ids text[])
returns table (id text, account_id text, remote_id text, problem text) language plpgsql as $$
#variable_conflict use_column
declare
  v_ids text[] := '{}';
  v_one record;
begin
  begin
    v_ids := {{schema}}.adopt_all(p_account_ids, p_remote_ids);
    return query select i.id, null::text, null::text, null::text from unnest(v_ids) as i (id);
    return;
  exception when data_exception or integrity_constraint_violation or program_limit_exceeded then
    v_ids := '{}';
  end;
  for v_one in select r.account_id, r.remote_id from unnest(p_account_ids, p_remote_ids) as r (account_id, remote_id) loop
    begin
      v_ids := v_ids || {{schema}}.adopt_all(array[v_one.account_id], array[v_one.remote_id]);
    exception when data_exception or integrity_constraint_violation or program_limit_exceeded then
      update {{schema}}.found_transfer f set problem = sqlerrm
      where f.account_id = v_one.account_id and f.remote_id = v_one.remote_id;
      -- The message may quote what was found, so only its code is told.
      return query select null::text, v_one.account_id, v_one.remote_id, sqlstate::text;
    end;
  end loop;
  return query select i.id, null::text, null::text, null::text from unnest(v_ids) as i (id);
end
$$;

-- Adopts what nothing here stands for, for certain, and answers as adopt_noted() does.
--
-- What became of a request from here is never taken for somebody else's: an automation made it, or every request that may have
-- left before it was seen has an answer. A request leaves after its claim has committed, and what it makes is seen after that;
-- the row under `found_transfer` committed later still, so the one statement that decides sees the claim, or what came of it.
-- It must run in a transaction of its own: in one that is older than the sight it would see neither.
create or replace function {{schema}}.adopt_found(p_limit integer)
returns table (id text, account_id text, remote_id text, problem text) language plpgsql as $$
#variable_conflict use_column
declare
  v_account_ids text[];
  v_remote_ids text[];
begin
  -- After a restore the service has what was sent from rows that are here as if it had not been: a reconciliation tells first.
  if exists (select 1 from {{schema}}.home h where h.fenced_since is not null) then
    return;
  end if;
  with known as (
    select f.account_id, f.remote_id, t.id from {{schema}}.found_transfer f
    join {{schema}}.transfer t on t.remote_id = f.remote_id and t.account_id = f.account_id
    for update of f skip locked for no key update of t skip locked
  ), met as (
    delete from {{schema}}.found_transfer f using known k
    where f.account_id = k.account_id and f.remote_id = k.remote_id
  )
  -- Whatever was told of it meanwhile, the next look finds out. Nobody is waited for: whoever has such a transfer may be about to
  -- note what this has just removed.
  update {{schema}}.transfer t set follow_at = clock_timestamp() from known k where t.id = k.id and t.stage = 'submitted';

  with uncertain as materialized (
    -- Per account, when the first request left whose outcome is not certain. Read once, not for each of what was found.
    -- What left before a restore is known by the age of its doubt, not by attempts.
    select t.account_id, min(case when t.reason = 'reconcile' then t.created_at
      else least(coalesce(a.claimed_at, t.created_at), t.unknown_since) end) as left_at from {{schema}}.transfer t
    left join {{schema}}.attempt a on a.transfer_id = t.id and a.attempt = 1
    where t.remote_id is null and t.status = 'pending'
      and t.stage in ('queued', 'submitting', 'awaiting_funds', 'blocked') and t.attempt > 0
      and (t.stage = 'submitting' or t.unknown_since is not null or t.reason in ('rate_limited', 'reconcile'))
    group by t.account_id
  ), ready as (
    select f.account_id, f.remote_id from {{schema}}.found_transfer f
    where f.problem is null
      and not exists (select 1 from {{schema}}.transfer t where t.remote_id = f.remote_id and t.account_id = f.account_id)
      and (f.automated or not exists (
        -- A margin, for a server's clock that was set back.
        select 1 from uncertain u where u.account_id = f.account_id and u.left_at < f.seen_at + interval '5 seconds'))
    order by 1, 2 limit p_limit for update skip locked
  )
  select array_agg(r.account_id), array_agg(r.remote_id) into v_account_ids, v_remote_ids from ready r;
  if v_account_ids is not null then
    return query select a.id, a.account_id, a.remote_id, a.problem from {{schema}}.adopt_noted(v_account_ids, v_remote_ids) a;
  end if;
end
$$;

-- True when a transfer brings into a wallet what another one of the account is to be paid from.
create or replace function {{schema}}.brings_funds(p_inbound jsonb, p_outbound jsonb) returns boolean language sql immutable as $$
  select p_inbound -> 'destination' ->> 'addressId' = p_outbound -> 'source' ->> 'addressId'
    and p_inbound -> 'destination' ->> 'valueType' = p_outbound -> 'source' ->> 'valueType'
    and p_inbound -> 'destination' ->> 'transferType' = p_outbound -> 'source' ->> 'transferType'
$$;

-- Locks and answers with the transfers that await funds which one of these transfers has brought.
create or replace function {{schema}}.funded_by(p_ids text[]) returns setof text language sql as $$
  select t.id from {{schema}}.transfer t
  where t.reason = 'insufficient_balance' and t.stage = 'awaiting_funds'
    and exists (
      select 1 from {{schema}}.transfer d
      where d.id = any (p_ids) and d.status = 'complete' and d.account_id = t.account_id
        and {{schema}}.brings_funds(d.request, t.request))
  order by t.id for no key update skip locked
$$;

-- The same for those that missed it: their refusal was written while the arrival was, so that neither of the two saw the other.
create or replace function {{schema}}.funded_unseen() returns setof text language sql as $$
  -- From the few arrivals of late to those that wait for them, never the other way: both histories are long.
  with arrived as materialized (
    select e.transfer_id, e.occurred_at from {{schema}}.event e
    where e.occurred_at > statement_timestamp() - interval '15 seconds' and e.type = 'transfer.completed'
  ), inbound as materialized (
    select d.account_id, d.request, r.occurred_at from arrived r
    cross join lateral (select d.account_id, d.request from {{schema}}.transfer d where d.id = r.transfer_id offset 0) d
    where exists (select 1 from {{schema}}.transfer w where w.account_id = d.account_id and w.reason = 'insufficient_balance')
  ), poor as materialized (
    select t.id, t.account_id, t.request, t.attempt from {{schema}}.transfer t
    where t.reason = 'insufficient_balance' and t.stage = 'awaiting_funds'
      and t.account_id in (select i.account_id from inbound i)
  ), missed as materialized (
    select p.id from poor p
    cross join lateral (
      select a.claimed_at from {{schema}}.attempt a where a.transfer_id = p.id and a.attempt = p.attempt offset 0) a
    where exists (
      select 1 from inbound i
      where i.account_id = p.account_id and i.occurred_at > a.claimed_at and {{schema}}.brings_funds(i.request, p.request))
    order by p.id limit 5000
  )
  select t.id from {{schema}}.transfer t
  where t.id = any (array(select m.id from missed m)) and t.reason = 'insufficient_balance' and t.stage = 'awaiting_funds'
  order by t.id for no key update skip locked
$$;
