-- Functions of the engine. Replaced as a whole by every migration; never change a signature, add a new name instead.

create or replace function {{schema}}.iso(p_at timestamptz) returns text language sql stable parallel safe as $$
  select to_char(p_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

-- The tag behind which an account's next job goes: where its last one went, or the virtual time if that has moved past it.
-- A base far ahead of the virtual time is from before that was set back.
create or replace function {{schema}}.tag_after(p_base integer) returns integer language sql stable as $$
  select least(2000000000, case when p_base > c.tag and p_base - c.tag < 1000000000 then p_base else c.tag end)
  from {{schema}}.dispatch_clock c
$$;

-- Writes one transfer, its event and its job. Answers with the tag of the job and the time; null when the key is taken.
-- One text, because a function in `from` costs more than one in `select`.
create or replace function {{schema}}.enqueue_one(
  p_id text, p_job uuid, p_account_id text, p_key text, p_fingerprint text, p_request jsonb, p_base integer, p_notify boolean,
  p_not_before timestamptz, p_expires_at timestamptz
) returns text language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
  v_tag integer;
begin
  insert into {{schema}}.transfer
    (id, account_id, idempotency_key, fingerprint, request, not_before, expires_at, created_at, updated_at)
  values (p_id, p_account_id, p_key, p_fingerprint, p_request, p_not_before, p_expires_at, v_at, v_at)
  on conflict do nothing;
  if not found then
    return null;
  end if;
  insert into {{schema}}.event (transfer_id, sequence, type, stage, status, attempt, occurred_at)
  values (p_id, 1, 'transfer.enqueued', 'queued', 'pending', 0, v_at);
  insert into {{schema}}.delivery (subscription, transfer_id, sequence)
  select s.name, p_id, 1 from {{schema}}.subscription s where s.types @> array['transfer.enqueued'];
  insert into {{queue_table}} as j
    (id, name, priority, start_after, retry_limit, expire_seconds, heartbeat_seconds, keep_until, policy)
  select p_job, '{{queue}}',
    -1 - least(2000000000, case when p_base > c.tag and p_base - c.tag < 1000000000 then p_base else c.tag end),
    coalesce(p_not_before, v_at), {{retry_limit}}, {{expire_seconds}}, {{heartbeat_seconds}}, v_at + interval '100 years', 'standard'
  from {{schema}}.dispatch_clock c
  returning -j.priority into v_tag;
  if p_notify then
    perform pg_notify('{{channel}}', '');
  end if;
  return v_tag || ' ' || {{schema}}.iso(v_at);
end
$$;

-- Writes many transfers with their events and jobs, all or none, in the order of their keys so that two batches cannot
-- deadlock. Answers with the taken keys and the fingerprints they have; `written` is false when nothing was written.
create or replace function {{schema}}.enqueue_many(
  p_ids text[], p_jobs uuid[], p_account_ids text[], p_keys text[], p_fingerprints text[], p_requests text[],
  p_bases integer[], p_offsets integer[], p_notify boolean, p_not_before timestamptz[], p_expires_at timestamptz[]
) returns table (written boolean, at text, tag integer, taken_position integer) language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
  v_count integer;
  v_mismatch boolean := false;
begin
  begin
    insert into {{schema}}.transfer
      (id, account_id, idempotency_key, fingerprint, request, not_before, expires_at, created_at, updated_at)
    select n.id, n.account_id, n.key, n.fingerprint, n.request::jsonb, n.not_before, n.expires_at, v_at, v_at
    from unnest(p_ids, p_account_ids, p_keys, p_fingerprints, p_requests, p_not_before, p_expires_at)
      as n (id, account_id, key, fingerprint, request, not_before, expires_at)
    order by n.account_id, n.key
    on conflict do nothing;
    get diagnostics v_count = row_count;
    if v_count < cardinality(p_ids) then
      select true into v_mismatch
      from unnest(p_ids, p_account_ids, p_keys, p_fingerprints) as n (id, account_id, key, fingerprint)
      left join {{schema}}.transfer t on t.account_id = n.account_id and t.idempotency_key = n.key
      where t.fingerprint is distinct from n.fingerprint
      limit 1;
      if v_mismatch then
        raise exception sqlstate 'OUTMM';
      end if;
    end if;
  exception when sqlstate 'OUTMM' then
    v_mismatch := true;
  end;
  if v_mismatch then
    return query
    select false, null::text, null::integer, n.position::integer
    from unnest(p_ids, p_account_ids, p_keys, p_fingerprints) with ordinality as n (id, account_id, key, fingerprint, position)
    left join {{schema}}.transfer t on t.account_id = n.account_id and t.idempotency_key = n.key
    left join unnest(p_account_ids, p_keys, p_fingerprints) with ordinality as m (account_id, key, fingerprint, position)
      on m.account_id = n.account_id and m.key = n.key and m.position < n.position
    where (t.id is not null and t.fingerprint <> n.fingerprint) or (m.key is not null and m.fingerprint <> n.fingerprint)
    order by n.position;
    return;
  end if;

  insert into {{schema}}.event (transfer_id, sequence, type, stage, status, attempt, occurred_at)
  select n.id, 1, 'transfer.enqueued', 'queued', 'pending', 0, v_at
  from unnest(p_ids) as n (id)
  where v_count = cardinality(p_ids) or exists (select 1 from {{schema}}.transfer t where t.id = n.id and t.created_at = v_at);
  insert into {{schema}}.delivery (subscription, transfer_id, sequence)
  select s.name, e.id, 1
  from {{schema}}.subscription s, unnest(p_ids) as e (id)
  where s.types @> array['transfer.enqueued']
    and (v_count = cardinality(p_ids) or exists (select 1 from {{schema}}.transfer t where t.id = e.id and t.created_at = v_at));
  insert into {{queue_table}} (id, name, priority, start_after, retry_limit, expire_seconds, heartbeat_seconds, keep_until, policy)
  select n.job, '{{queue}}', -(b.tag + n.position), coalesce(n.not_before, v_at), {{retry_limit}}, {{expire_seconds}},
    {{heartbeat_seconds}}, v_at + interval '100 years', 'standard'
  from unnest(p_ids, p_jobs, p_bases, p_offsets, p_not_before) as n (id, job, base, position, not_before)
  join (select u.base, {{schema}}.tag_after(u.base) as tag from (select distinct unnest(p_bases)) as u (base)) b on b.base = n.base
  where v_count = cardinality(p_ids) or exists (select 1 from {{schema}}.transfer t where t.id = n.id and t.created_at = v_at)
  on conflict do nothing;
  if p_notify then
    perform pg_notify('{{channel}}', '');
  end if;

  return query select true, {{schema}}.iso(v_at), c.tag, null::integer from {{schema}}.dispatch_clock c;
  if v_count < cardinality(p_ids) then
    return query
    select true, null::text, null::integer, n.position::integer
    from unnest(p_ids) with ordinality as n (id, position)
    where not exists (select 1 from {{schema}}.transfer t where t.id = n.id and t.created_at = v_at);
  end if;
end
$$;

-- Sends the transfers of accounts with refused credentials back to wait, but for one probe per account that is due for one.
-- Answers with those that wait.
create or replace function {{schema}}.park_refused(p_ids text[], p_jobs uuid[]) returns text[] language plpgsql as $$
declare
  v_parked text[];
begin
  perform 1 from {{schema}}.transfer t where t.id = any (p_ids) order by t.id for update;
  with mine as materialized (
    select t.id, t.account_id, n.job from unnest(p_ids, p_jobs) as n (id, job)
    join {{schema}}.transfer t on t.id = n.id and t.stage in ('queued', 'submitting', 'awaiting_funds')
    join {{schema}}.refused_account r on r.account_id = t.account_id
    where not exists (select 1 from {{schema}}.account f where f.account_id = t.account_id and f.paused)
  ), probing as (
    -- The probe has a minute; then, if its worker died, another one may.
    update {{schema}}.refused_account r set probe_at = clock_timestamp() + interval '1 minute'
    where r.probe_at <= clock_timestamp() and r.account_id in (select m.account_id from mine m)
    returning r.account_id
  ), parked as (
    update {{schema}}.transfer t
    set stage = 'queued', reason = 'unauthenticated', updated_at = clock_timestamp(),
        unknown_since = case when t.stage = 'submitting' then coalesce(t.unknown_since, t.updated_at) else t.unknown_since end
    from mine m
    where t.id = m.id and m.id not in (select min(o.id) from mine o join probing p on p.account_id = o.account_id group by o.account_id)
    returning t.id, m.job
  ), back as (
    update {{queue_table}} j set state = 'retry', heartbeat_on = null, start_after = clock_timestamp() + interval '10 years'
    from parked p where j.name = '{{queue}}' and j.id = p.job
  )
  select array_agg(p.id) into v_parked from parked p;
  return coalesce(v_parked, '{}');
end
$$;

-- Takes transfers for one attempt each and writes the attempt before any byte leaves. An attempt that was claimed before
-- and never settled has an unknown outcome from its claim on.
create or replace function {{schema}}.claim(p_ids text[], p_jobs uuid[], p_worker text)
returns table (
  id text, account_id text, idempotency_key text, request jsonb, attempt integer, reason text, unknown_since text, expires_at text,
  refusals integer
) language plpgsql as $$
#variable_conflict use_column
declare
  v_parked text[] := '{}';
begin
  update {{schema}}.dispatch_clock c set tag = f.tag
  from (select max(-j.priority) as tag from {{queue_table}} j where j.name = '{{queue}}' and j.id = any (p_jobs)) f
  where f.tag > c.tag;

  -- The transfers of a paused account go back, out of everybody's way until the account is resumed.
  if exists (select 1 from {{schema}}.account f where f.paused) then
    with parked as (
      update {{schema}}.transfer t
      set stage = 'queued', reason = 'account_paused', updated_at = clock_timestamp(),
          unknown_since = case when t.stage = 'submitting' then coalesce(t.unknown_since, t.updated_at) else t.unknown_since end
      from {{schema}}.account f, unnest(p_ids, p_jobs) as n (id, job)
      where t.id = n.id and f.account_id = t.account_id and f.paused and t.stage in ('queued', 'submitting', 'awaiting_funds')
      returning n.job
    )
    update {{queue_table}} j set state = 'retry', heartbeat_on = null, start_after = clock_timestamp() + interval '10 years'
    from parked p where j.name = '{{queue}}' and j.id = p.job;
  end if;

  if exists (select 1 from {{schema}}.refused_account) then
    v_parked := {{schema}}.park_refused(p_ids, p_jobs);
  end if;

  return query
  with held as (
    select t.id, t.stage, t.updated_at from {{schema}}.transfer t
    where t.id = any (p_ids) and t.id <> all (v_parked) and t.stage in ('queued', 'submitting', 'awaiting_funds')
      and not exists (select 1 from {{schema}}.account f where f.account_id = t.account_id and f.paused)
    order by t.id for update
  ), taken as (
    update {{schema}}.transfer t
    set attempt = t.attempt + 1, stage = 'submitting', updated_at = clock_timestamp(),
        unknown_since = case when h.stage = 'submitting' then coalesce(t.unknown_since, h.updated_at) else t.unknown_since end
    from held h where t.id = h.id
    returning t.id, t.account_id, t.idempotency_key, t.request, t.attempt, t.reason, t.unknown_since, t.expires_at
  ), logged as (
    insert into {{schema}}.attempt (transfer_id, attempt, worker) select k.id, k.attempt, p_worker from taken k
  )
  select k.id, k.account_id, k.idempotency_key, k.request, k.attempt, k.reason, {{schema}}.iso(k.unknown_since),
    {{schema}}.iso(k.expires_at), coalesce(r.refusals, 0)
  from taken k left join {{schema}}.refused_account r on r.account_id = k.account_id;
end
$$;

-- Notes what answers say about the credentials of accounts. An answer counts only while there were no more refusals since its
-- claim: of a hundred in flight one is enough. Adds an event for each account whose credentials turned. The transfers are
-- locked by the caller.
create or replace function {{schema}}.note_credentials(p_settlements jsonb) returns jsonb language plpgsql as $$
declare
  v_news jsonb;
begin
  with verdict as materialized (
    select distinct on (t.account_id) t.account_id, s.id, s.credentials, s.refusals,
      clock_timestamp() + coalesce(s.retry_ms, 0) * interval '1 millisecond' as probe_at
    from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, credentials text, refusals integer, retry_ms bigint)
    join {{schema}}.transfer t on t.id = s.id and t.attempt = s.attempt and t.stage = 'submitting'
    order by t.account_id, s.refusals desc, s.credentials is distinct from 'refused', s.id
  ), refused as (
    insert into {{schema}}.refused_account as r (account_id, probe_at)
    select v.account_id, v.probe_at from verdict v where v.credentials = 'refused'
    on conflict (account_id) do update
    set refusals = r.refusals + 1, probe_at = excluded.probe_at
    where r.refusals = (select v.refusals from verdict v where v.account_id = r.account_id)
    returning r.account_id, r.refusals
  ), restored as (
    delete from {{schema}}.refused_account r using verdict v
    where r.account_id = v.account_id and v.credentials = 'good' and r.refusals = v.refusals
    returning r.account_id
  ), undecided as (
    update {{schema}}.refused_account r set probe_at = v.probe_at from verdict v
    where r.account_id = v.account_id and v.credentials is null and r.refusals = v.refusals
  )
  select jsonb_object_agg(v.id, 'account.credentials_' || n.turn) into v_news
  from verdict v join (
    select f.account_id, 'refused' as turn from refused f where f.refusals = 1
    union all select o.account_id, 'restored' from restored o
  ) n on n.account_id = v.account_id;
  return case when v_news is null then p_settlements else (
    select jsonb_agg(case when v_news ? (e ->> 'id')
      then jsonb_set(e, '{events}', jsonb_build_array(v_news -> (e ->> 'id')) || (e -> 'events')) else e end)
    from jsonb_array_elements(p_settlements) as e
  ) end;
end
$$;

-- Writes events and what they mean for subscribers; `p_events` holds (transfer id, position, type) of rows just changed.
create or replace function {{schema}}.record_events(p_ids text[], p_sequences integer[], p_types text[])
returns void language plpgsql as $$
begin
  insert into {{schema}}.event (transfer_id, sequence, type, stage, status, failure, remote_id, reason, attempt)
  select t.id, e.sequence, e.type, t.stage, t.status, t.failure, t.remote_id, t.reason, t.attempt
  from unnest(p_ids, p_sequences, p_types) as e (id, sequence, type)
  join {{schema}}.transfer t on t.id = e.id;
  insert into {{schema}}.delivery (subscription, transfer_id, sequence)
  select s.name, e.id, e.sequence
  from unnest(p_ids, p_sequences, p_types) as e (id, sequence, type)
  join {{schema}}.subscription s on s.types @> array[e.type];
end
$$;

-- Writes the outcomes of attempts: transfers, attempts, events and jobs. Rows whose attempt is no longer the current one
-- are left alone but for their line in the attempts log. Answers with the ids that were settled.
create or replace function {{schema}}.settle(p_settlements jsonb) returns setof text language plpgsql as $$
declare
  v_ids text[];
  v_event_ids text[];
  v_sequences integer[];
  v_types text[];
begin
  update {{schema}}.attempt a
  set answered_at = clock_timestamp(), outcome = s.outcome, detail = s.detail, http_status = s.http_status, request_id = s.request_id
  from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, outcome text, detail text, http_status integer, request_id text)
  where a.transfer_id = s.id and a.attempt = s.attempt and a.answered_at is null;

  perform 1 from {{schema}}.transfer t
  where t.id in (select s.id from jsonb_to_recordset(p_settlements) as s (id text)) order by t.id for update;

  if p_settlements @? '$[*] ? (@.credentials == "refused")' or exists (select 1 from {{schema}}.refused_account) then
    p_settlements := {{schema}}.note_credentials(p_settlements);
  end if;

  with s as materialized (
    select * from jsonb_to_recordset(p_settlements) as s (
      id text, job uuid, attempt integer, stage text, status text, failure jsonb, remote_id text, reason text,
      unknown_since timestamptz, retry_ms bigint, follow_ms bigint, events text[])
  ), changed as (
    update {{schema}}.transfer t
    set stage = s.stage, status = s.status, failure = nullif(s.failure, 'null'::jsonb), remote_id = coalesce(s.remote_id, t.remote_id),
        reason = s.reason, unknown_since = s.unknown_since,
        follow_at = clock_timestamp() + s.follow_ms * interval '1 millisecond',
        event_sequence = t.event_sequence + coalesce(cardinality(s.events), 0),
        updated_at = clock_timestamp()
    from s
    where t.id = s.id and t.attempt = s.attempt and t.stage = 'submitting'
    returning t.id, t.account_id, t.attempt, s.job, s.stage, s.retry_ms, s.events, t.event_sequence - coalesce(cardinality(s.events), 0) as base
  ), again as (
    update {{queue_table}} j
    set state = 'retry', heartbeat_on = null,
        start_after = clock_timestamp() + case
          when c.stage = 'awaiting_funds' and exists (
            select 1 from {{schema}}.account f, {{schema}}.attempt a
            where f.account_id = c.account_id and a.transfer_id = c.id and a.attempt = c.attempt and f.funds_arrived_at > a.claimed_at
          ) then interval '1 second'
          else c.retry_ms * interval '1 millisecond' end
    from changed c where j.name = '{{queue}}' and j.id = c.job and c.retry_ms is not null
  ), done as (
    delete from {{queue_table}} j using changed c where j.name = '{{queue}}' and j.id = c.job and c.retry_ms is null
  ), told as (
    select c.id, c.base + e.ordinality::integer as sequence, e.type
    from changed c cross join lateral unnest(c.events) with ordinality as e (type, ordinality)
  )
  select (select array_agg(c.id) from changed c), array_agg(t.id), array_agg(t.sequence), array_agg(t.type)
  into v_ids, v_event_ids, v_sequences, v_types
  from told t;

  if v_event_ids is not null then
    perform {{schema}}.record_events(v_event_ids, v_sequences, v_types);
  end if;
  return query select unnest(v_ids);
end
$$;

-- Applies status changes to transfers that the caller has locked.
create or replace function {{schema}}.apply_changes(p_changes jsonb) returns integer language plpgsql as $$
declare
  v_count integer;
  v_event_ids text[];
  v_sequences integer[];
  v_types text[];
begin
  with s as materialized (
    select * from jsonb_to_recordset(p_changes) as s (id text, stage text, status text, failure jsonb, events text[])
  ), changed as (
    update {{schema}}.transfer t
    set stage = s.stage, status = s.status, failure = nullif(s.failure, 'null'::jsonb), reason = null,
        follow_at = case when s.stage = 'submitted' then t.follow_at end,
        event_sequence = t.event_sequence + coalesce(cardinality(s.events), 0),
        updated_at = clock_timestamp()
    from s where t.id = s.id
    returning t.id, s.events, t.event_sequence - coalesce(cardinality(s.events), 0) as base
  ), told as (
    select c.id, c.base + e.ordinality::integer as sequence, e.type
    from changed c cross join lateral unnest(c.events) with ordinality as e (type, ordinality)
  )
  select (select count(*) from changed), array_agg(t.id), array_agg(t.sequence), array_agg(t.type)
  into v_count, v_event_ids, v_sequences, v_types
  from told t;
  if v_event_ids is not null then
    perform {{schema}}.record_events(v_event_ids, v_sequences, v_types);
  end if;
  return v_count;
end
$$;

-- Takes submitted transfers that are due for a look; the lease keeps other workers away meanwhile.
create or replace function {{schema}}.take_due(p_limit integer, p_lease_ms integer)
returns table (id text, account_id text, remote_id text, status text, transfer_type text, looks integer) language sql as $$
  with due as (
    select t.id from {{schema}}.transfer t
    where t.follow_at <= clock_timestamp() and t.stage = 'submitted'
    order by t.follow_at limit p_limit for update skip locked
  )
  update {{schema}}.transfer t
  set follow_at = clock_timestamp() + p_lease_ms * interval '1 millisecond', looks = t.looks + 1
  from due where t.id = due.id
  returning t.id, t.account_id, t.remote_id, t.status, t.request -> 'destination' ->> 'transferType', t.looks
$$;

-- Ends a transfer that was never sent, or whose every attempt was answered with a refusal that left nothing behind.
create or replace function {{schema}}.cancel(p_id text, p_job uuid) returns boolean language plpgsql as $$
declare
  v_sequence integer;
begin
  update {{schema}}.transfer t
  set stage = 'settled', status = 'canceled', reason = null, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
  where t.id = p_id and t.stage in ('queued', 'awaiting_funds', 'blocked') and t.unknown_since is null
  returning t.event_sequence into v_sequence;
  if v_sequence is null then
    return false;
  end if;
  delete from {{queue_table}} j where j.name = '{{queue}}' and j.id = p_job;
  perform {{schema}}.record_events(array[p_id], array[v_sequence], array['transfer.canceled']);
  return true;
end
$$;
