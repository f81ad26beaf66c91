-- Gives transfers the ids that they have at the service, fails them where a person says that nothing was paid, or blocks them for a
-- person. Writes the evidence beside their attempts. A `command` of `resolve` is a person's decision; the others are a
-- reconciliation's. Skips a transfer whose attempt or stage has changed, and one whose id another transfer of the account has.
-- Returns the ids that changed.
create or replace function {{schema}}.apply_reconciliation(p_changes jsonb, p_actor text) returns setof text language plpgsql as $$
declare
  v_ids text[];
  v_sequences integer[];
  v_types text[];
  v_jobs uuid[];
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
        next_poll_at = case when c.remote_id is not null then clock_timestamp() end,
        -- The first attempt writes the key, and this is a later one: write the key as it was sent before the restore.
        submission_key = case when t.attempt = 0
          then {{schema}}.submission_key('transfer', t.account_id, t.idempotency_key) else t.submission_key end,
        attempt = t.attempt + 1, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    from c
    where t.id = c.id and t.attempt = c.attempt and t.remote_id is null and t.status = 'pending'
      and t.stage in ('held', 'queued', 'submitting', 'awaiting_funds', 'blocked')
      and (c.remote_id is null or not exists (
        select 1 from {{schema}}.transfer o where o.remote_id = c.remote_id and o.account_id = t.account_id
          and o.gateway = t.gateway))
    returning t.id, t.attempt, t.remote_id, t.event_sequence, t.stage, c.evidence, coalesce(c.command, 'reconcile') as command
  ), logged as (
    insert into {{schema}}.attempt (transfer_id, attempt, worker, answered_at, outcome, detail, remote_id)
    select d.id, d.attempt, d.command || coalesce(' by ' || p_actor, ''), clock_timestamp(),
      case when d.command = 'resolve' then 'resolved' else 'reconciled' end, d.evidence, d.remote_id
    from changed d
  )
  select array_agg(d.id), array_agg(d.event_sequence),
    array_agg(case d.stage when 'blocked' then 'transfer.blocked' when 'settled' then 'transfer.failed' else 'transfer.submitted' end),
    array_agg({{schema}}.job_id(d.id))
  into v_ids, v_sequences, v_types, v_jobs from changed d;
  if v_ids is null then
    return;
  end if;
  -- One that is blocked is held again when a person releases it.
  delete from {{schema}}.hold h using {{schema}}.transfer t where h.transfer_id = any (v_ids) and t.id = h.transfer_id and t.stage <> 'blocked';
  perform {{schema}}.queue_remove(v_jobs);
  delete from {{schema}}.submission_slot s where s.transfer_id = any (v_ids);
  perform {{schema}}.record_events(v_ids, v_sequences, v_types);
  return query select unnest(v_ids);
end
$$;
