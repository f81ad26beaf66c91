-- Lets transfers that may be at the service be sent again: under the same key and as the same client as then, for as long as that
-- key lives. Writes an attempt for the request that a restore has lost, from when it may have left. A transfer that is marked
-- already does not change. Returns the ids that changed.
create or replace function {{schema}}.resend(p_changes jsonb, p_actor text) returns setof text language plpgsql as $$
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
        client = coalesce(t.client, (select k.client from {{schema}}.account_client k where k.account_id = {{schema}}.gateway_account(t.gateway, t.account_id))),
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
