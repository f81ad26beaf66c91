-- Reconcile: what the service has becomes what is known here.
-- Replaced as a whole when it changes.

-- Gives transfers the ids that they have at the service, fails them where a person says that nothing was paid, or blocks them for a
-- person, and writes the evidence beside their attempts. Whose `command` is `resolve` a person decides; the others a reconciliation
-- does. A transfer whose attempt or stage is another by now is left alone. Answers with the ids that changed.
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

-- Writes transfers of the service that nothing here stands for, as if they had been found on a watched account.
create or replace function {{schema}}.adopt_lost(p_account_id text, p_found jsonb) returns setof text language plpgsql as $$
declare
  v_ids text[];
  v_event_ids text[];
  v_sequences integer[];
  v_types text[];
begin
  with f as materialized (
    select f.remote_id, f.transfer from jsonb_to_recordset(p_found) as f (remote_id text, transfer jsonb)
    where not exists (select 1 from {{schema}}.transfer t where t.remote_id = f.remote_id and t.account_id = p_account_id)
  ), adopted as (
    insert into {{schema}}.transfer (id, account_id, idempotency_key, fingerprint, request, stage, status, failure, remote_id,
      event_sequence, reached_at, follow_at)
    select n.id, p_account_id, n.key, n.fingerprint, n.request, n.stage, n.status, nullif(n.failure, 'null'::jsonb), f.remote_id,
      jsonb_array_length(f.transfer -> 'events'), n.reached_at, case when n.stage = 'submitted' then clock_timestamp() end
    from f cross join lateral jsonb_to_record(f.transfer) as n (
      id text, key text, fingerprint text, request jsonb, stage text, status text, failure jsonb, reached_at timestamptz)
    on conflict do nothing
    returning id, remote_id
  ), told as (
    select a.id, e.ordinality::integer as sequence, e.type
    from adopted a join f on f.remote_id = a.remote_id
    cross join lateral jsonb_array_elements_text(f.transfer -> 'events') with ordinality as e (type, ordinality)
  )
  select (select array_agg(a.id) from adopted a), array_agg(t.id), array_agg(t.sequence), array_agg(t.type)
  into v_ids, v_event_ids, v_sequences, v_types from told t;
  delete from {{schema}}.found_transfer f where f.account_id = p_account_id
    and f.remote_id in (select x.remote_id from jsonb_to_recordset(p_found) as x (remote_id text));
  if v_event_ids is not null then
    perform {{schema}}.record_events(v_event_ids, v_sequences, v_types);
  end if;
  return query select unnest(v_ids);
end
$$;
