create or replace function {{schema}}.sending_state_of(p_known {{schema}}.known_database, p_mismatch text, p_found text)
returns jsonb language sql stable as $$
  select jsonb_build_object(
    'unfamiliar', p_mismatch,
    'fence', case when p_known.fenced_since is not null or p_found is not null then jsonb_build_object(
      'id', case when p_found is null then p_known.fence_id end,
      'since', {{schema}}.iso(coalesce(p_known.fenced_since, p_known.seen_at)),
      'reason', coalesce(p_known.fence_reason, p_found), 'actor', p_known.fenced_by) end,
    'stops', coalesce((
      select jsonb_agg(jsonb_build_object('scope', s.scope, 'name', nullif(s.name, ''), 'since', {{schema}}.iso(s.since),
        'reason', s.reason, 'actor', s.actor) order by s.scope <> 'all', s.scope <> 'gateway', s.name)
      from {{schema}}.stop s), '[]'),
    'knownDatabase', case when p_known.only_row then jsonb_build_object(
      'database', p_known.database_name, 'systemIdentifier', p_known.system_identifier, 'timeline', p_known.timeline,
      'deployment', p_known.deployment, 'environment', p_known.environment, 'seenAt', {{schema}}.iso(p_known.seen_at)) end)
$$;
