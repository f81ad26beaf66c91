-- Records that a worker has these gateways. Transfers that waited for one of them because no worker had it, or because it was stopped, are
-- due at once, whatever else they waited for. Returns how many those are.
create or replace function {{schema}}.attend_gateways(p_names text[]) returns integer language plpgsql as $$
declare
  v_ids text[];
begin
  insert into {{schema}}.attended_gateway as g (name) select n.name from unnest(p_names) as n (name) order by 1
  on conflict (name) do update set attended_at = clock_timestamp() where g.attended_at < clock_timestamp() - interval '20 seconds';
  v_ids := array(
    select t.id from {{schema}}.transfer t
    where t.remote_id is null and t.status = 'pending' and t.stage = 'queued' and t.reason = 'gateway_held' and t.gateway = any (p_names)
      and not exists (select 1 from {{schema}}.stop s where s.scope = 'gateway' and s.name = t.gateway)
    order by t.id limit 5000 for no key update skip locked);
  if cardinality(v_ids) = 0 then
    return {{schema}}.wake_started(p_names);
  end if;
  update {{schema}}.transfer t set reason = null where t.id = any (v_ids);
  perform {{schema}}.queue_wake_unlocked(array_agg({{schema}}.job_id(t.id)), array_agg(t.not_before))
  from {{schema}}.transfer t where t.id = any (v_ids);
  return cardinality(v_ids);
end
$$;
