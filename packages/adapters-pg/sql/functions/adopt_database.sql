-- Makes this database the one that workers know. One that was not moved whole is fenced, from when a worker was last here: the service
-- may be ahead of it.
create or replace function {{schema}}.adopt_database(p_deployment text, p_moved boolean, p_reason text, p_actor text)
returns boolean language plpgsql as $$
begin
  insert into {{schema}}.known_database as h (system_identifier, database_oid, database_name, timeline, deployment, adopted_by,
    adopted_reason, fenced_since, fence_reason, fenced_by, fence_id)
  select w.system_identifier, w.database_oid, w.database_name, coalesce(w.timeline, 0), p_deployment, p_actor, p_reason,
    case when not p_moved then clock_timestamp() end, case when not p_moved then 'adopted' end, case when not p_moved then p_actor end,
    case when not p_moved then gen_random_uuid() end
  from {{schema}}.database_identity() w
  on conflict (only_row) do update
  set system_identifier = excluded.system_identifier, database_oid = excluded.database_oid, database_name = excluded.database_name,
      timeline = excluded.timeline, deployment = coalesce(p_deployment, h.deployment), recorded_at = clock_timestamp(),
      seen_at = greatest(h.seen_at, clock_timestamp()), adopted_by = p_actor, adopted_reason = p_reason,
      fenced_since = coalesce(h.fenced_since, case when not p_moved then least(h.seen_at, excluded.fenced_since) end),
      fence_reason = coalesce(h.fence_reason, excluded.fence_reason), fenced_by = coalesce(h.fenced_by, excluded.fenced_by),
      fence_id = coalesce(excluded.fence_id, h.fence_id);
  perform pg_notify('{{channel}}', '');
  return true;
end
$$;
