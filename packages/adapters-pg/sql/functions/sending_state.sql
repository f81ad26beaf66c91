-- The same for readers: changes nothing, and knows no deployment to compare.
create or replace function {{schema}}.sending_state() returns jsonb language plpgsql stable as $$
declare
  v_here record;
  v_home {{schema}}.home;
  v_found text;
begin
  select * into v_here from {{schema}}.database_identity();
  select * into v_home from {{schema}}.home;
  v_found := case when v_here.timeline <> v_home.timeline and (
    v_here.started_at >= v_home.seen_at or v_home.seen_at >= clock_timestamp() + interval '30 seconds') then 'restored' end;
  return {{schema}}.sending_state_of(
    v_home, {{schema}}.strangeness(v_home, v_here.system_identifier, v_here.database_oid, null, false), v_found);
end
$$;
