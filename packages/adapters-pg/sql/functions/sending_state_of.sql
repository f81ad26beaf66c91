create or replace function {{schema}}.sending_state_of(p_home {{schema}}.home, p_strange text, p_found text)
returns jsonb language sql stable as $$
  select jsonb_build_object(
    'unfamiliar', p_strange,
    'fence', case when p_home.fenced_since is not null or p_found is not null then jsonb_build_object(
      'since', {{schema}}.iso(coalesce(p_home.fenced_since, p_home.seen_at)),
      'reason', coalesce(p_home.fence_reason, p_found), 'actor', p_home.fenced_by) end,
    'stops', coalesce((
      select jsonb_agg(jsonb_build_object('scope', s.scope, 'name', nullif(s.name, ''), 'since', {{schema}}.iso(s.since),
        'reason', s.reason, 'actor', s.actor) order by s.scope <> 'all', s.scope <> 'gateway', s.name)
      from {{schema}}.stop s), '[]'),
    'home', case when p_home.only_row then jsonb_build_object(
      'database', p_home.database_name, 'systemIdentifier', p_home.system_identifier, 'timeline', p_home.timeline,
      'deployment', p_home.deployment, 'environment', p_home.environment, 'seenAt', {{schema}}.iso(p_home.seen_at)) end)
$$;
