-- Keeps everything from being sent until a reconciliation. The fence counts from when a worker was last here: what is younger may have
-- been enqueued after a restore that nobody had noticed yet. False when the database is fenced already. The fence gets a new identity
-- then too, so a reconciliation that is under way does not lift it: what that one has compared may be of before another restore.
create or replace function {{schema}}.fence(p_reason text, p_actor text) returns boolean language plpgsql as $$
declare
  v_done boolean;
begin
  insert into {{schema}}.known_database (system_identifier, database_oid, database_name, timeline)
  select w.system_identifier, w.database_oid, w.database_name, coalesce(w.timeline, 0) from {{schema}}.database_identity() w
  on conflict do nothing;
  update {{schema}}.known_database h set fenced_since = least(h.seen_at, clock_timestamp()), fence_reason = p_reason, fenced_by = p_actor
  where h.fenced_since is null;
  v_done := found;
  update {{schema}}.known_database h set fence_id = gen_random_uuid();
  perform pg_notify('{{channel}}', '');
  return v_done;
end
$$;
