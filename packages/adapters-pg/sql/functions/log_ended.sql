-- Writes what a reconciliation found out about those of the transfers that have ended here behind the fence: which one of the service each
-- is, as a person said, or, without an id, that it may be one. Only the log says so: their events are not taken back. A doubt is written
-- once. Returns the ids of those that are in doubt.
create or replace function {{schema}}.log_ended(p_changes jsonb, p_actor text) returns setof text language plpgsql as $$
begin
  perform 1 from {{schema}}.transfer t
  where t.id in (select c.id from jsonb_to_recordset(p_changes) as c (id text)) order by t.id for no key update;
  with c as materialized (
    select * from jsonb_to_recordset(p_changes) as c (id text, remote_id text, evidence text)
  ), changed as (
    update {{schema}}.transfer t
    set attempt = t.attempt + 1, updated_at = clock_timestamp(),
        submission_key = case when t.attempt = 0
          then {{schema}}.submission_key('transfer', t.account_id, t.idempotency_key) else t.submission_key end
    from c
    where t.id = c.id and ({{schema}}.ended_unseen(t) or c.remote_id is not null and {{schema}}.ended_in_doubt(t))
    returning t.id, {{schema}}.gateway_account(t.gateway, t.account_id) as account_id, t.attempt, c.remote_id, c.evidence
  ), decided as (
    update {{schema}}.attempt a set unmatched = false from changed d
    where a.transfer_id = d.id and a.unmatched and a.remote_id is null and d.remote_id is not null
  ), met as (
    delete from {{schema}}.found_transfer f using changed d where f.account_id = d.account_id and f.remote_id = d.remote_id
  )
  insert into {{schema}}.attempt (transfer_id, attempt, worker, answered_at, outcome, detail, remote_id, unmatched, unmatched_id)
  select d.id, d.attempt, 'reconcile' || coalesce(' by ' || p_actor, ''), clock_timestamp(), 'reconciled', d.evidence, d.remote_id, true,
    d.remote_id
  from changed d;
  return query
  select t.id from {{schema}}.transfer t
  where t.id in (select c.id from jsonb_to_recordset(p_changes) as c (id text)) and {{schema}}.ended_in_doubt(t);
end
$$;
