-- Says what may be sent from here, for a worker. Records where the database is when that is not recorded yet, and that it was seen
-- there.
--
-- Beside what timeline_news() finds, a database was restored that has forgotten a `seen_at` which this worker knows of. The fence counts
-- from the last `seen_at`, and is another one than the fence that was restored with it. This waits for no lock: a locked row is left for
-- the next turn, and while another transaction is about to write the first row no database is known. A worker of another environment
-- names no deployment: it is about to be refused, and those that belong here go on.
create or replace function {{schema}}.check_identity(p_deployment text, p_environment text, p_known_seen_at timestamptz)
returns jsonb language plpgsql set lock_timeout = '250ms' as $$
declare
  v_here record;
  v_known {{schema}}.known_database;
  v_mismatch text;
  v_news text;
  v_is_restored boolean := false;
  v_named text;
begin
  select * into v_here from {{schema}}.database_identity();
  select * into v_known from {{schema}}.known_database;
  if v_known.only_row is null then
    begin
      insert into {{schema}}.known_database (system_identifier, database_oid, database_name, timeline, deployment, environment)
      values (v_here.system_identifier, v_here.database_oid, v_here.database_name, coalesce(v_here.timeline, 0), p_deployment, p_environment)
      on conflict do nothing;
    exception when lock_not_available then
      null;
    end;
    select * into v_known from {{schema}}.known_database;
  end if;
  if v_known.environment is null or v_known.environment = p_environment then
    v_named := p_deployment;
  end if;
  v_mismatch := {{schema}}.identity_mismatch(v_known, v_here.system_identifier, v_here.database_oid, p_deployment, true);
  if v_known.only_row is not null and v_mismatch is null and v_here.timeline is not null then
    v_news := coalesce({{schema}}.timeline_news(v_known, v_here.timeline, v_here.started_at), case
      when v_known.seen_at < case when p_known_seen_at > clock_timestamp() then clock_timestamp() - interval '1 minute'
        else p_known_seen_at end then 'rewound'
    end);
    v_is_restored := coalesce(v_news in ('restored', 'rewound'), false);
    if v_news is not null or v_known.seen_at < clock_timestamp() - interval '5 seconds'
      or (v_known.deployment is null and v_named is not null) or (v_known.environment is null and p_environment is not null) then
      update {{schema}}.known_database h
      -- A clock that is set back must not make `seen_at` older than one that a worker knows of; only the watch of the clock does.
      set timeline = v_here.timeline, database_name = v_here.database_name, seen_at = greatest(h.seen_at, clock_timestamp()),
          system_identifier = coalesce(h.system_identifier, v_here.system_identifier),
          deployment = coalesce(h.deployment, v_named), environment = coalesce(h.environment, p_environment),
          fenced_since = case when v_is_restored then least(h.fenced_since, v_known.seen_at, clock_timestamp()) else h.fenced_since end,
          fence_reason = case when v_is_restored and h.fenced_since is null then v_news else h.fence_reason end,
          fence_id = case when v_is_restored then gen_random_uuid() else h.fence_id end
      where h.only_row and h.timeline = v_known.timeline
        and exists (select 1 from {{schema}}.known_database x where x.only_row for no key update skip locked);
      -- The transaction that holds the row may be about to fence it; until then, what was found here counts.
      select * into v_known from {{schema}}.known_database;
    end if;
  end if;
  return {{schema}}.sending_state_of(v_known, v_mismatch, case when v_is_restored then v_news end)
    || jsonb_build_object('news', v_news);
end
$$;
