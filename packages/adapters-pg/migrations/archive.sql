-- Archive: moves the history of old transfers out of the hot tables, and reads it wherever it is.
-- Replaced as a whole when it changes.

-- Looks at the next transfers that have their history in the hot tables, in the order of their ids, and moves that of those
-- which are settled for long enough. `held` counts those that a subscription in `held_by` has yet to hear of: they stay. A transfer that
-- anybody has locked, or whose last answer may still come, is passed over. `last_id` is null when there was none to look at.
drop function if exists {{schema}}.archive_history(text, text, bigint, integer, boolean);
create function {{schema}}.archive_history(
  p_after text, p_before text, p_older_ms bigint, p_limit integer, p_dry_run boolean
) returns table (last_id text, archived integer, held integer, held_by text[]) language plpgsql set lock_timeout = '250ms' as $$
declare
  v_ids text[];
  v_held text[];
  v_page bigint;
begin
  -- The first event says that a history is here, so no index has to.
  select array_agg(c.transfer_id), max(c.transfer_id) into v_ids, last_id from (
    select e.transfer_id from {{schema}}.event e
    where e.sequence = 1 and e.transfer_id > p_after and e.transfer_id < p_before order by e.transfer_id limit p_limit
  ) c;
  v_ids := {{schema}}.lock_ended(v_ids, clock_timestamp() - p_older_ms * interval '1 millisecond', not p_dry_run);

  -- New deliveries come with new events, and those need the lock. By subscription, since that is how they are indexed.
  with recursive told as (
    (select d.subscription from {{schema}}.delivery d order by d.subscription limit 1)
    union all
    select (select d.subscription from {{schema}}.delivery d where d.subscription > s.subscription order by d.subscription limit 1)
    from told s where s.subscription is not null
  )
  select array_agg(distinct d.transfer_id), coalesce(array_agg(distinct d.subscription), '{}') into v_held, held_by
  from told s join {{schema}}.delivery d on d.subscription = s.subscription and d.transfer_id = any (v_ids);
  select array_agg(i.id) into v_ids from unnest(v_ids) as i (id) where i.id <> all (coalesce(v_held, '{}'));

  held := coalesce(cardinality(v_held), 0);
  archived := coalesce(cardinality(v_ids), 0);
  if archived > 0 and not p_dry_run then
    with events as (
      delete from {{schema}}.event e where e.transfer_id = any (v_ids) returning e.*
    ), attempts as (
      delete from {{schema}}.attempt a where a.transfer_id = any (v_ids) returning a.*
    ), contexts as (
      delete from {{schema}}.trace_context x where x.transfer_id = any (v_ids)
    ), histories as (
      select i.id, jsonb_build_object('events', coalesce(e.rows, '[]'), 'attempts', coalesce(a.rows, '[]')) as history
      from unnest(v_ids) as i (id)
      left join (select x.transfer_id, jsonb_agg(to_jsonb(x) order by x.sequence) as rows from events x group by 1) e on e.transfer_id = i.id
      left join (select x.transfer_id, jsonb_agg(to_jsonb(x) order by x.attempt) as rows from attempts x group by 1) a on a.transfer_id = i.id
    )
    insert into {{schema}}.archive (transfers, history) select archived, jsonb_object_agg(h.id, h.history) from histories h
    returning page into v_page;
    update {{schema}}.transfer t set archive_page = v_page where t.id = any (v_ids);
  end if;
  return next;
end
$$;

-- Those of the transfers that ended before a time and are not archived. Locks them, but for those that somebody else has
-- locked; one that another archiver has just finished with is seen as it left it.
create or replace function {{schema}}.lock_ended(p_ids text[], p_before timestamptz, p_lock boolean) returns text[] language plpgsql as $$
declare
  v_ids text[];
begin
  if p_lock then
    select array_agg(l.id) into v_ids from (
      select t.id from {{schema}}.transfer t
      where t.id = any (p_ids) and t.stage = 'settled' and t.updated_at < p_before and t.archive_page is null
      order by t.id for no key update skip locked
    ) l;
  else
    select array_agg(t.id) into v_ids from {{schema}}.transfer t
    where t.id = any (p_ids) and t.stage = 'settled' and t.updated_at < p_before and t.archive_page is null;
  end if;
  -- A worker that was thought dead may still write what it heard; whoever has a job that long has lost it.
  return (
    select array_agg(i.id) from unnest(v_ids) as i (id) where not exists (
      select 1 from {{schema}}.attempt a
      where a.transfer_id = i.id and a.answered_at is null and a.claimed_at > statement_timestamp() - interval '24 hours')
  );
end
$$;

create or replace function {{schema}}.events_of(p_transfer_id text) returns setof {{schema}}.event language sql stable as $$
  select e.* from {{schema}}.event e where e.transfer_id = p_transfer_id
  union all
  select r.* from {{schema}}.transfer t join {{schema}}.archive a on a.page = t.archive_page
  cross join lateral jsonb_populate_recordset(null::{{schema}}.event, a.history -> t.id -> 'events') r where t.id = p_transfer_id
$$;
comment on function {{schema}}.events_of(text) is 'The events of one transfer, archived or not, in no order.';

create or replace function {{schema}}.logged_attempts_of(p_transfer_id text) returns setof {{schema}}.attempt language sql stable as $$
  select a.* from {{schema}}.attempt a where a.transfer_id = p_transfer_id
  union all
  select r.* from {{schema}}.transfer t join {{schema}}.archive a on a.page = t.archive_page
  cross join lateral jsonb_populate_recordset(null::{{schema}}.attempt, a.history -> t.id -> 'attempts') r where t.id = p_transfer_id
$$;
comment on function {{schema}}.logged_attempts_of(text) is 'The attempts of one transfer as they were logged, archived or not, in no order.';

-- The same as before the archive was there, over both places.
create or replace function {{schema}}.attempts_of(p_transfer_id text)
returns table (
  attempt integer, claimed_at timestamptz, answered_at timestamptz, took interval, outcome text, http_status integer,
  request_id text, detail text, worker text, submission_key text
) language sql stable as $$
  select a.attempt, a.claimed_at, a.answered_at, a.answered_at - a.claimed_at,
    concat_ws(' ', a.step, coalesce(a.outcome, 'unanswered')), a.http_status, a.request_id, a.detail, a.worker,
    case when a.step is null then coalesce(t.submission_key, t.idempotency_key) end
  from {{schema}}.logged_attempts_of(p_transfer_id) a join {{schema}}.transfer t on t.id = a.transfer_id order by a.attempt
$$;

comment on function {{schema}}.attempts_of(text) is
  'The attempts of one transfer, each with its answer and the key that it was sent under. An outcome that begins with "registration" is about the counterparty, and moved no money.';

create or replace function {{schema}}.timeline_of(p_transfer_id text)
returns table (at timestamptz, what text, detail text) language sql stable as $$
  with attempts as materialized (
    select * from {{schema}}.logged_attempts_of(p_transfer_id)
  )
  select l.at, l.what, l.detail from (
    select a.claimed_at as at, 1 as rank, concat_ws(' ', 'attempt', a.attempt, a.step) as what, 'taken by ' || a.worker as detail from attempts a
    union all
    select a.answered_at, 2, concat_ws(' ', 'attempt', a.attempt, a.step, a.outcome),
      concat_ws(', ', 'HTTP ' || a.http_status, 'request ' || a.request_id, a.detail)
    from attempts a where a.answered_at is not null
    union all
    select e.occurred_at, 3, e.type, concat_ws(', ', e.stage, e.status, e.reason, e.failure ->> 'code', e.failure ->> 'detail')
    from {{schema}}.events_of(p_transfer_id) e
  ) l order by l.at, l.rank
$$;
