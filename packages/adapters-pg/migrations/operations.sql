-- Operations: whether anything may be sent from here, and what is written when a person says so.
-- Replaced as a whole when it changes.

-- Where this session is. The identifier of the server is null where its functions are kept from this role.
create or replace function {{schema}}.whereabouts()
returns table (
  system_identifier text, database_oid bigint, database_name text, timeline bigint, started_at timestamptz
) language plpgsql as $$
#variable_conflict use_column
begin
  select d.oid::bigint, d.datname::text into database_oid, database_name from pg_database d where d.datname = current_database();
  if has_function_privilege('pg_catalog.pg_control_system()', 'execute') then
    select c.system_identifier::text into system_identifier from pg_control_system() c;
  end if;
  if not pg_is_in_recovery() then
    -- The control file has the new timeline only after the checkpoint that follows a promotion.
    timeline := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint;
  end if;
  started_at := pg_postmaster_start_time();
  return next;
end
$$;

-- Why this database is not the one that workers know: another server, another database of it, or another deployment. While workers
-- without a name are at work, one with a name is of another deployment too: it may be mistyped, and giving it would stop them.
create or replace function {{schema}}.strangeness(
  p_home {{schema}}.home, p_server text, p_oid bigint, p_deployment text, p_works boolean
) returns text language sql volatile as $$
  select case
    when p_home.only_row is null then null
    when p_home.system_identifier <> p_server then 'other_server'
    when p_home.database_oid <> p_oid then 'other_database'
    when p_works and p_home.deployment is distinct from p_deployment
      and (p_home.deployment is not null or p_home.seen_at > clock_timestamp() - interval '15 seconds') then 'other_deployment'
  end
$$;

-- What may be sent from here, for a worker. Writes down where the database is when nobody has, and that it was seen there.
--
-- A new timeline is a fail-over when the server ran before the last sight was written: it was a standby then, and had it streamed
-- to it. A server that started later was restored, and the service may be ahead of it. So is one of the same timeline that has
-- forgotten a sight which this worker knows of. Nobody is waited for: a row that somebody has is left for the next turn, and
-- while somebody is about to write the first one there is no home. A worker of another environment names no deployment: it is
-- about to be refused, and those that belong here go on.
create or replace function {{schema}}.recognize(p_deployment text, p_environment text, p_known_sight timestamptz)
returns jsonb language plpgsql set lock_timeout = '250ms' as $$
declare
  v_here record;
  v_home {{schema}}.home;
  v_strange text;
  v_news text;
  v_named text;
begin
  select * into v_here from {{schema}}.whereabouts();
  select * into v_home from {{schema}}.home;
  if v_home.only_row is null then
    begin
      insert into {{schema}}.home (system_identifier, database_oid, database_name, timeline, deployment, environment)
      values (v_here.system_identifier, v_here.database_oid, v_here.database_name, coalesce(v_here.timeline, 0), p_deployment, p_environment)
      on conflict do nothing;
    exception when lock_not_available then
      null;
    end;
    select * into v_home from {{schema}}.home;
  end if;
  if v_home.environment is null or v_home.environment = p_environment then
    v_named := p_deployment;
  end if;
  v_strange := {{schema}}.strangeness(v_home, v_here.system_identifier, v_here.database_oid, p_deployment, true);
  if v_home.only_row is not null and v_strange is null and v_here.timeline is not null then
    v_news := case
      when v_here.timeline <> v_home.timeline and v_here.started_at < v_home.seen_at then 'failed_over'
      when v_here.timeline <> v_home.timeline then 'restored'
      when v_home.seen_at < p_known_sight then 'rewound'
    end;
    if v_news is not null or v_home.seen_at < clock_timestamp() - interval '5 seconds'
      or (v_home.deployment is null and v_named is not null) or (v_home.environment is null and p_environment is not null) then
      update {{schema}}.home h
      -- A clock that is set back makes no sight older than one that a worker knows of.
      set timeline = v_here.timeline, database_name = v_here.database_name, seen_at = greatest(h.seen_at, clock_timestamp()),
          system_identifier = coalesce(h.system_identifier, v_here.system_identifier),
          deployment = coalesce(h.deployment, v_named), environment = coalesce(h.environment, p_environment),
          fenced_since = case when v_news in ('restored', 'rewound') then coalesce(h.fenced_since, clock_timestamp()) else h.fenced_since end,
          fence_reason = case when v_news in ('restored', 'rewound') and h.fenced_since is null then v_news else h.fence_reason end
      where h.only_row and h.timeline = v_home.timeline
        and exists (select 1 from {{schema}}.home x where x.only_row for no key update skip locked);
      -- Whoever has the row may be about to fence it; what was found here counts meanwhile.
      select * into v_home from {{schema}}.home;
    end if;
  end if;
  return {{schema}}.sending_state_of(v_home, v_strange, case when v_news in ('restored', 'rewound') then v_news end)
    || jsonb_build_object('news', v_news);
end
$$;

create or replace function {{schema}}.sending_state_of(p_home {{schema}}.home, p_strange text, p_found text)
returns jsonb language sql stable as $$
  select jsonb_build_object(
    'unfamiliar', p_strange,
    'fence', case when p_home.fenced_since is not null or p_found is not null then jsonb_build_object(
      'since', {{schema}}.iso(coalesce(p_home.fenced_since, clock_timestamp())),
      'reason', coalesce(p_home.fence_reason, p_found), 'actor', p_home.fenced_by) end,
    'stops', coalesce((
      select jsonb_agg(jsonb_build_object('scope', s.scope, 'name', nullif(s.name, ''), 'since', {{schema}}.iso(s.since),
        'reason', s.reason, 'actor', s.actor) order by s.scope <> 'all', s.scope <> 'gateway', s.name)
      from {{schema}}.stop s), '[]'),
    'home', case when p_home.only_row then jsonb_build_object(
      'database', p_home.database_name, 'systemIdentifier', p_home.system_identifier, 'timeline', p_home.timeline,
      'deployment', p_home.deployment, 'environment', p_home.environment, 'seenAt', {{schema}}.iso(p_home.seen_at)) end)
$$;

-- The same for whoever only looks: changes nothing, and knows no deployment to compare.
create or replace function {{schema}}.sending_state() returns jsonb language plpgsql stable as $$
declare
  v_here record;
  v_home {{schema}}.home;
  v_found text;
begin
  select * into v_here from {{schema}}.whereabouts();
  select * into v_home from {{schema}}.home;
  v_found := case when v_here.timeline <> v_home.timeline and v_here.started_at >= v_home.seen_at then 'restored' end;
  return {{schema}}.sending_state_of(
    v_home, {{schema}}.strangeness(v_home, v_here.system_identifier, v_here.database_oid, null, false), v_found);
end
$$;

-- True while nothing at all may be claimed: everything or the gateway is stopped, or fenced.
create or replace function {{schema}}.is_all_stopped() returns boolean language sql stable as $$
  select exists (select 1 from {{schema}}.stop s where s.scope <> 'account')
    or exists (select 1 from {{schema}}.home h where h.fenced_since is not null)
$$;

-- Accounts whose transfers are not claimed: paused, or stopped.
create or replace view {{schema}}.held_account as
select a.account_id from {{schema}}.account a where a.paused
union
select s.name from {{schema}}.stop s where s.scope = 'account';
comment on view {{schema}}.held_account is 'Accounts whose transfers are not sent: paused, or stopped.';

-- Makes this database the home of the engine. One that was not moved whole is fenced: the service may be ahead of it.
create or replace function {{schema}}.adopt_database(p_deployment text, p_moved boolean, p_reason text, p_actor text)
returns boolean language plpgsql as $$
begin
  insert into {{schema}}.home as h (system_identifier, database_oid, database_name, timeline, deployment, adopted_by, adopted_reason,
    fenced_since, fence_reason, fenced_by)
  select w.system_identifier, w.database_oid, w.database_name, coalesce(w.timeline, 0), p_deployment, p_actor, p_reason,
    case when not p_moved then clock_timestamp() end, case when not p_moved then 'adopted' end, case when not p_moved then p_actor end
  from {{schema}}.whereabouts() w
  on conflict (only_row) do update
  set system_identifier = excluded.system_identifier, database_oid = excluded.database_oid, database_name = excluded.database_name,
      timeline = excluded.timeline, deployment = coalesce(p_deployment, h.deployment), recorded_at = clock_timestamp(),
      seen_at = greatest(h.seen_at, clock_timestamp()), adopted_by = p_actor, adopted_reason = p_reason,
      fenced_since = coalesce(h.fenced_since, excluded.fenced_since), fence_reason = coalesce(h.fence_reason, excluded.fence_reason),
      fenced_by = coalesce(h.fenced_by, excluded.fenced_by);
  perform pg_notify('{{channel}}', '');
  return true;
end
$$;

-- Keeps everything from being sent until a reconciliation. False when it is fenced already.
create or replace function {{schema}}.fence(p_reason text, p_actor text) returns boolean language plpgsql as $$
declare
  v_done boolean;
begin
  insert into {{schema}}.home (system_identifier, database_oid, database_name, timeline)
  select w.system_identifier, w.database_oid, w.database_name, coalesce(w.timeline, 0) from {{schema}}.whereabouts() w
  on conflict do nothing;
  update {{schema}}.home h set fenced_since = clock_timestamp(), fence_reason = p_reason, fenced_by = p_actor
  where h.fenced_since is null;
  v_done := found;
  perform pg_notify('{{channel}}', '');
  return v_done;
end
$$;
