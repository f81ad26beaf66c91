-- Follow: looks at submitted transfers, and what they change.
-- Replaced as a whole when it changes; never change a signature, add a new name instead.

-- Applies status changes to transfers that the caller has locked.
create or replace function {{schema}}.apply_changes(p_changes jsonb) returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  v_count integer;
  v_event_ids text[];
  v_sequences integer[];
  v_types text[];
begin
  with s as materialized (
    select * from jsonb_to_recordset(p_changes) as s (
      id text, stage text, status text, failure jsonb, reached_at timestamptz, events text[])
  ), changed as (
    update {{schema}}.transfer t
    set stage = s.stage, status = s.status, failure = nullif(s.failure, 'null'::jsonb), reason = null,
        reached_at = s.reached_at, unknown_since = null, follow_at = case when s.stage = 'submitted' then t.follow_at end,
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

-- Takes submitted transfers that are due for a look; the lease keeps other workers away meanwhile. No index finds what is
-- compared with clock_timestamp(), which is another one for every row. Accounts whose list is being read are left out: whoever
-- reads it looks at their transfers too. So are those of `p_except`, which the worker is busy with.
create or replace function {{schema}}.take_unread(p_limit integer, p_lease_ms integer, p_except text[])
returns table (id text, account_id text, remote_id text, status text, transfer_type text, looks integer) language sql
set lock_timeout = '250ms' as $$
  with due as (
    select t.id from {{schema}}.transfer t
    where t.follow_at <= statement_timestamp() and t.stage = 'submitted' and t.account_id <> all (p_except)
      and not exists (
        select 1 from {{schema}}.list_reading r where r.account_id = t.account_id and r.leased_until > clock_timestamp())
    order by t.follow_at limit p_limit for no key update skip locked
  )
  update {{schema}}.transfer t
  set follow_at = clock_timestamp() + p_lease_ms * interval '1 millisecond', looks = t.looks + 1
  from due where t.id = due.id
  returning t.id, t.account_id, t.remote_id, t.status, t.request -> 'destination' ->> 'transferType', t.looks
$$;

-- Marks submitted transfers that the service does not know by the ids that it gave them. One that every reading missed for
-- p_patience_ms is flagged, once: the service has lost it, perhaps by a fail-over, and only a person can say what was paid. It is
-- followed on, since a service may find again what it lost. A host's lock is not waited for: the next reading comes.
create or replace function {{schema}}.mark_missing(p_ids text[], p_patience_ms integer) returns setof text language plpgsql as $$
declare
  v_ids text[];
  v_sequences integer[];
begin
  with free as (
    select t.id from {{schema}}.transfer t
    where t.id = any (p_ids) and t.stage = 'submitted' and t.reason is distinct from 'missing_at_service'
    order by t.id for no key update skip locked
  ), marked as (
    update {{schema}}.transfer t set unknown_since = clock_timestamp() from free f where t.id = f.id and t.unknown_since is null
  ), flagged as (
    update {{schema}}.transfer t
    set reason = 'missing_at_service', event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    from free f
    where t.id = f.id and t.unknown_since <= clock_timestamp() - p_patience_ms * interval '1 millisecond'
    returning t.id, t.event_sequence
  )
  select array_agg(f.id), array_agg(f.event_sequence) into v_ids, v_sequences from flagged f;
  if v_ids is not null then
    perform {{schema}}.record_events(v_ids, v_sequences, array_fill('transfer.missing'::text, array[cardinality(v_ids)]));
  end if;
  return query select unnest(v_ids);
end
$$;

-- Takes the reading of an account's list, from where it stands; no row when another worker has it. A new reading may meet
-- nothing that is due in a quarter as many pages as there are due transfers: in vain it must not cost much more than reading
-- them one by one. One that was left alone for a minute begins anew.
create or replace function {{schema}}.take_reading(p_account_id text, p_taken integer, p_lease_ms integer)
returns table (cursor text, patience integer) language sql set lock_timeout = '250ms' as $$
  insert into {{schema}}.list_reading as r (account_id, patience, leased_until)
  values (
    p_account_id,
    1 + (p_taken + (select count(*) from (
      select 1 from {{schema}}.transfer t
      where t.account_id = p_account_id and t.stage = 'submitted' and t.follow_at <= statement_timestamp() limit 100000
    ) d)::integer) / 4,
    clock_timestamp() + p_lease_ms * interval '1 millisecond')
  on conflict (account_id) do update
  set leased_until = excluded.leased_until,
      cursor = case when r.leased_until < clock_timestamp() - interval '1 minute' then null else r.cursor end,
      patience = case when r.cursor is null or r.leased_until < clock_timestamp() - interval '1 minute'
        then excluded.patience else r.patience end
  where r.leased_until <= clock_timestamp()
  returning r.cursor, r.patience
$$;

-- Keeps in mind what was told of too early, for a worker: what a host is about to note needs no second note, so it is not waited for.
create or replace function {{schema}}.note_sightings(p_account_id text, p_remote_ids text[]) returns void language plpgsql
set lock_timeout = '50ms' as $$
begin
  insert into {{schema}}.sighting (account_id, remote_id)
  select p_account_id, u.remote_id from unnest(p_remote_ids) as u (remote_id) order by 2 on conflict do nothing;
exception when lock_not_available then
  null;
end
$$;
