-- Reconcile: what the service has becomes what is known here.
-- Replaced as a whole when it changes.

-- Gives transfers the ids that they have at the service, fails them where a person says that nothing was paid, or blocks them for a
-- person, and writes the evidence beside their attempts. Whose `command` is `resolve` a person decides; the others a reconciliation
-- does. A transfer whose attempt or stage is another by now is left alone, and so is one whose id another transfer of the account
-- has by now. Answers with the ids that changed.
create or replace function {{schema}}.apply_reconciliation(p_changes jsonb, p_actor text) returns setof text language plpgsql as $$
declare
  v_ids text[];
  v_sequences integer[];
  v_types text[];
begin
  perform 1 from {{schema}}.transfer t
  where t.id in (select c.id from jsonb_to_recordset(p_changes) as c (id text)) order by t.id for no key update;
  with c as materialized (
    select * from jsonb_to_recordset(p_changes) as c (
      id text, attempt integer, remote_id text, failure jsonb, evidence text, command text)
  ), changed as (
    update {{schema}}.transfer t
    set stage = case when c.remote_id is not null then 'submitted' when c.failure is not null then 'settled' else 'blocked' end,
        status = case when c.failure is not null then 'failed' else t.status end, failure = c.failure, remote_id = c.remote_id,
        reason = case when c.remote_id is null and c.failure is null then 'reconcile' end,
        unknown_since = case when c.remote_id is null and c.failure is null then t.unknown_since end,
        follow_at = case when c.remote_id is not null then clock_timestamp() end,
        -- It is no first attempt any more, and the first one is what writes the key: as it was sent before the restore.
        submission_key = case when t.attempt = 0
          then {{schema}}.submission_key('transfer', t.account_id, t.idempotency_key) else t.submission_key end,
        attempt = t.attempt + 1, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    from c
    where t.id = c.id and t.attempt = c.attempt and t.remote_id is null and t.status = 'pending'
      and t.stage in ('queued', 'submitting', 'awaiting_funds', 'blocked')
      and (c.remote_id is null or not exists (
        select 1 from {{schema}}.transfer o where o.remote_id = c.remote_id and o.account_id = t.account_id))
    returning t.id, t.attempt, t.remote_id, t.event_sequence, t.stage, c.evidence, coalesce(c.command, 'reconcile') as command
  ), logged as (
    insert into {{schema}}.attempt (transfer_id, attempt, worker, answered_at, outcome, detail)
    select d.id, d.attempt, d.command || coalesce(' by ' || p_actor, ''), clock_timestamp(),
      case when d.command = 'resolve' then 'resolved' else 'reconciled' end, d.evidence
    from changed d
  ), unqueued as (
    delete from {{queue_table}} j using changed d where j.name = '{{queue}}' and j.id = {{schema}}.job_id(d.id)
  )
  select array_agg(d.id), array_agg(d.event_sequence),
    array_agg(case d.stage when 'blocked' then 'transfer.blocked' when 'settled' then 'transfer.failed' else 'transfer.submitted' end)
  into v_ids, v_sequences, v_types from changed d;
  if v_ids is null then
    return;
  end if;
  delete from {{schema}}.submission_slot s where s.transfer_id = any (v_ids);
  perform {{schema}}.record_events(v_ids, v_sequences, v_types);
  return query select unnest(v_ids);
end
$$;

-- When a request of a transfer may have left for the first time: the first attempt in the log, or, where a restore has lost the log,
-- as soon as it was there and due. Never later than its doubt.
create or replace function {{schema}}.first_request_at(p_transfer {{schema}}.transfer) returns timestamptz language sql stable as $$
  select least(p_transfer.unknown_since, clock_timestamp(), coalesce(
    (select case when not bool_or(a.outcome is not distinct from 'reconciled') then min(a.claimed_at) filter (where a.step is null) end
      from {{schema}}.attempt a where a.transfer_id = p_transfer.id),
    greatest(p_transfer.created_at, p_transfer.not_before)))
$$;

-- Lets transfers go out again that may be at the service: under the key and as the client of then, for as long as that key lives. The
-- request that a restore has lost has a line among the attempts, from when it may have left. One that is marked already is left
-- as it is. Answers with the ids that changed.
create or replace function {{schema}}.send_again(p_changes jsonb, p_actor text) returns setof text language plpgsql as $$
begin
  perform 1 from {{schema}}.transfer t
  where t.id in (select c.id from jsonb_to_recordset(p_changes) as c (id text)) order by t.id for no key update;
  return query
  with c as materialized (
    select * from jsonb_to_recordset(p_changes) as c (id text, attempt integer, since timestamptz, evidence text)
  ), changed as (
    update {{schema}}.transfer t
    set stage = 'queued', reason = 'outcome_unknown', unknown_since = least({{schema}}.first_request_at(t), c.since), released_at = clock_timestamp(),
        -- To another client the key is new.
        client = coalesce(t.client, (select k.client from {{schema}}.account_client k where k.account_id = t.account_id)),
        submission_key = case when t.attempt = 0
          then {{schema}}.submission_key('transfer', t.account_id, t.idempotency_key) else t.submission_key end,
        attempt = t.attempt + 1, updated_at = clock_timestamp()
    from c
    where t.id = c.id and t.attempt = c.attempt and t.remote_id is null and t.status = 'pending'
      and t.stage in ('queued', 'submitting', 'awaiting_funds') and (t.unknown_since is null or t.released_at is null)
    returning t.id, t.attempt, t.unknown_since, c.evidence
  ), logged as (
    insert into {{schema}}.attempt (transfer_id, attempt, worker, claimed_at, answered_at, outcome, detail)
    select d.id, d.attempt, 'reconcile' || coalesce(' by ' || p_actor, ''), d.unknown_since, clock_timestamp(), 'unknown', d.evidence
    from changed d
  ), freed as (
    delete from {{schema}}.submission_slot s using changed d where s.transfer_id = d.id
  )
  select d.id from changed d;
end
$$;

-- Keeps in mind transfers of the service that no row has the id of, watched or not, until it is certain that none stands for them.
create or replace function {{schema}}.hold_found(p_account_id text, p_found jsonb) returns void language sql as $$
  insert into {{schema}}.found_transfer as f (account_id, remote_id, automated, transfer)
  select p_account_id, n.remote_id, n.automated, n.transfer
  from jsonb_to_recordset(p_found) as n (remote_id text, automated boolean, transfer jsonb)
  where not exists (select 1 from {{schema}}.transfer t where t.remote_id = n.remote_id and t.account_id = p_account_id)
  order by n.remote_id
  on conflict (account_id, remote_id) do update set automated = excluded.automated, transfer = excluded.transfer, problem = null
$$;

-- Writes transfers of the service that nothing here stands for, as if they had been found on a watched account. Answers as
-- adopt_noted() does.
create or replace function {{schema}}.adopt_lost(p_account_id text, p_found jsonb)
returns table (id text, account_id text, remote_id text, problem text) language plpgsql as $$
#variable_conflict use_column
declare
  v_remote_ids text[];
begin
  perform {{schema}}.hold_found(p_account_id, p_found);
  v_remote_ids := array(
    select f.remote_id from {{schema}}.found_transfer f
    where f.account_id = p_account_id and f.remote_id in (
      select n.remote_id from jsonb_to_recordset(p_found) as n (remote_id text))
    order by 1 for update);
  return query
  select a.id, a.account_id, a.remote_id, a.problem
  from {{schema}}.adopt_noted(array_fill(p_account_id, array[cardinality(v_remote_ids)]), v_remote_ids) a;
end
$$;
