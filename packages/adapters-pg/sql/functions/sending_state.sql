-- The same for readers: changes nothing, and knows no deployment to compare.
create or replace function {{schema}}.sending_state() returns jsonb language plpgsql stable as $$
declare
  v_here record;
  v_known {{schema}}.known_database;
  v_found text;
begin
  select * into v_here from {{schema}}.database_identity();
  select * into v_known from {{schema}}.known_database;
  v_found := nullif({{schema}}.timeline_news(v_known, v_here.timeline, v_here.started_at), 'failed_over');
  return {{schema}}.sending_state_of(
    v_known, {{schema}}.identity_mismatch(v_known, v_here.system_identifier, v_here.database_oid, null, false), v_found);
end
$$;
