-- Writes at once what nearly all settlements are: the acceptance of the attempt that is under way, the only answer to it, with an id at the
-- service that no other transfer has. One statement reads each row once and writes transfers, answers, events and deliveries. Returns the
-- places of the settlements that it wrote, from one on, and their transfers; settle() writes the others as before, those of locked transfers
-- included. Where anything is not as it seems, such as an id that another transfer has, it writes nothing.
create or replace function {{schema}}.settle_accepted(p_settlements jsonb, out places integer[], out ids text[]) language plpgsql as $$
declare
  v_jobs uuid[];
  v_counted text[];
  v_expected bigint;
  v_answered bigint;
begin
  -- Not a setting of the function: only superusers may give it one of this name.
  perform set_config('outlay_batches.counts', 'written', true);
  with s as materialized (
    select s.* from rows from (jsonb_to_recordset(p_settlements) as (
      id text, job uuid, attempt integer, worker text, stage text, status text, failure jsonb, remote_id text, reason text,
      unknown_since timestamptz, reached_at timestamptz, retry_ms bigint, poll_after_ms bigint, events text[], outcome text,
      detail text, http_status integer, request_id text, address_id text, forget jsonb, registration_unknown_since text
    )) with ordinality as s
  ), accepted as materialized (
    -- A plan that is kept from when the table was small would read all of it: one by one, and then by their places. A transfer that another
    -- one has written since this statement began has another place, and is not written here.
    select s.*, t.place, t.was, a.line from s
    cross join lateral (
      select t.ctid as place, t.batch_id || ' ' || t.status || ' ' || t.stage as was from {{schema}}.transfer t
      where t.id = s.id and t.attempt = s.attempt and t.stage = 'submitting' and t.remote_id is null for no key update skip locked) t
    cross join lateral (
      select a.ctid as line from {{schema}}.attempt a
      where a.transfer_id = s.id and a.attempt = s.attempt and a.worker = s.worker and a.answered_at is null offset 0) a
    where s.outcome = 'accepted' and s.remote_id is not null and s.stage in ('submitted', 'settled') and s.unknown_since is null
      and s.retry_ms is null and s.address_id is null and s.forget is null and s.registration_unknown_since is null
  ), changed as (
    update {{schema}}.transfer t
    set stage = s.stage, status = s.status, failure = nullif(s.failure, 'null'::jsonb), remote_id = s.remote_id, reason = s.reason,
        unknown_since = null, released_at = null, reached_at = s.reached_at,
        next_poll_at = clock_timestamp() + s.poll_after_ms * interval '1 millisecond',
        event_sequence = t.event_sequence + coalesce(cardinality(s.events), 0), updated_at = clock_timestamp()
    from accepted s where t.ctid = s.place
    returning t.id, t.account_id, t.stage, t.status, t.failure, t.remote_id, t.reason, t.attempt,
      t.event_sequence - coalesce(cardinality(s.events), 0) as base, s.ordinality as position, s.job, s.events, s.was
  ), answered as (
    update {{schema}}.attempt a
    set answered_at = clock_timestamp(), outcome = s.outcome, detail = s.detail, http_status = s.http_status, request_id = s.request_id,
        remote_id = s.remote_id
    from accepted s where a.ctid = s.line and a.answered_at is null returning 1
  ), reported as materialized (
    select c.*, c.base + e.ordinality::integer as sequence, e.type
    from changed c cross join lateral unnest(c.events) with ordinality as e (type, ordinality)
  ), written as (
    insert into {{schema}}.event (transfer_id, sequence, type, stage, status, failure, remote_id, reason, attempt)
    select e.id, e.sequence, e.type, e.stage, e.status, e.failure, e.remote_id, e.reason, e.attempt from reported e
  ), wanted as materialized (select b.name, b.types from {{schema}}.subscription b), delivered as (
    insert into {{schema}}.delivery (subscription, transfer_id, sequence, type, account_id)
    select b.name, e.id, e.sequence, e.type, e.account_id from wanted b cross join reported e where b.types @> array[e.type]
  )
  select array_agg(c.position::integer), array_agg(c.id), array_agg(c.job),
    array_agg(concat_ws(' ', c.was, c.status, c.stage)) filter (where c.was is not null),
    (select count(*) from accepted), (select count(*) from answered)
  into places, ids, v_jobs, v_counted, v_expected, v_answered
  from changed c;
  perform set_config('outlay_batches.counts', '', true);
  if coalesce(cardinality(ids), 0) <> v_expected or v_answered <> v_expected then
    raise exception 'Two answers are about one transfer.' using errcode = 'unique_violation';
  end if;
  if v_counted is not null then perform {{schema}}.count_batched(v_counted); end if;
  if ids is not null then
    delete from {{schema}}.hold h where h.transfer_id = any (ids);
    perform {{schema}}.queue_remove(v_jobs);
  end if;
exception when unique_violation then
  places := null; ids := null;
end
$$;
