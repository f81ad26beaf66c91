-- Defers the transfers of accounts with refused credentials, except one probe per account that is due for one. Returns the deferred
-- ones. The probe is the first transfer behind the last probe, and after the last transfer the first of all again: what the
-- service refuses to one transfer alone says nothing about the account. One that comes on a timer of its own waits for its turn
-- while others wait: if its outcome stays unknown, it would otherwise take every probe. A transfer whose client has changed is
-- neither deferred nor a probe: its outcome is unknown, so it may not be sent as anybody else, and has a backoff of its own. The
-- caller has locked the transfers.
create or replace function {{schema}}.defer_unauthorized(p_ids text[], p_jobs uuid[]) returns text[] language plpgsql as $$
declare
  v_deferred text[];
  v_deferred_jobs uuid[];
  v_due_at timestamptz[];
  v_due text[];
begin
  -- A locked row belongs to a claim that probes it, or to a host that retries its credentials: the sweep wakes a probe then.
  v_due := array(
    select r.account_id from {{schema}}.unauthorized_account r
    where r.probe_at <= clock_timestamp() and r.account_id in (select {{schema}}.gateway_account(t.gateway, t.account_id) from {{schema}}.transfer t where t.id = any (p_ids))
    order by r.account_id for update skip locked);
  with mine as materialized (
    select t.id, r.account_id, n.job, t.id <= r.probed_id as was_probed, t.reason is not distinct from 'unauthenticated' as has_turn
    from unnest(p_ids, p_jobs) as n (id, job)
    join {{schema}}.transfer t on t.id = n.id and t.stage in ('queued', 'submitting', 'awaiting_funds')
    join {{schema}}.unauthorized_account r on r.account_id = {{schema}}.gateway_account(t.gateway, t.account_id)
    where t.reason is distinct from 'client_changed'
      and not exists (select 1 from {{schema}}.account f where f.account_id = t.account_id and f.paused)
  ), probe as materialized (
    select distinct on (m.account_id) m.account_id, m.id from mine m
    where m.account_id = any (v_due) and (m.has_turn or not exists (
      select 1 from {{schema}}.transfer w join {{schema}}.queue_jobs() q on q.job = {{schema}}.job_id(w.id)
      where w.account_id = {{schema}}.account_of(m.account_id) and w.gateway = {{schema}}.gateway_of(m.account_id) and w.stage = 'queued' and w.reason = 'unauthenticated' and q.is_waiting))
    order by m.account_id, not m.has_turn, m.was_probed is true, m.id
  ), probing as (
    -- The probe has a minute; after that, in case its worker died, another may go.
    update {{schema}}.unauthorized_account r set probe_at = clock_timestamp() + interval '1 minute', probed_id = p.id
    from probe p where r.account_id = p.account_id
  ), deferred as (
    update {{schema}}.transfer t
    set stage = 'queued', reason = 'unauthenticated', updated_at = clock_timestamp(),
        unknown_since = {{schema}}.unknown_since_of(t)
    from mine m
    where t.id = m.id and m.id not in (select p.id from probe p)
    returning t.id, m.job
  )
  select array_agg(p.id), array_agg(p.job), array_agg(clock_timestamp() + interval '10 years')
  into v_deferred, v_deferred_jobs, v_due_at from deferred p;
  perform {{schema}}.queue_defer(v_deferred_jobs, v_due_at);
  return coalesce(v_deferred, '{}');
end
$$;
