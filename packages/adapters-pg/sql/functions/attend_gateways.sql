-- Records that a worker has these gateways. Transfers that waited for one of them because no worker
-- had it, or because it was stopped, are due at once, whatever else they waited for. What waits for one that is stopped is not read.
-- Returns how many are due.
create or replace function {{schema}}.attend_gateways(p_names text[]) returns integer language plpgsql as $$
declare
  v_names text[];
  v_ids text[];
begin
  perform {{schema}}.note_gateways(p_names);
  v_names := array(
    select n.name from unnest(p_names) as n (name)
    where not exists (select 1 from {{schema}}.stop s where s.scope = 'gateway' and s.name = n.name));
  if cardinality(v_names) = 0 then
    return 0;
  end if;
  v_ids := array(
    select h.id from unnest(v_names) as n (name)
    cross join lateral (
      select t.id from {{schema}}.transfer t where t.gateway = n.name and t.reason = 'gateway_held' and t.stage = 'queued'
      order by t.id limit 5000 for no key update skip locked
    ) h
    limit 5000);
  if cardinality(v_ids) = 0 then
    return {{schema}}.wake_started(p_names);
  end if;
  update {{schema}}.transfer t set reason = null where t.id = any (v_ids);
  perform {{schema}}.queue_wake_unlocked(array_agg({{schema}}.job_id(t.id)), array_agg(t.not_before))
  from {{schema}}.transfer t where t.id = any (v_ids);
  return cardinality(v_ids);
end
$$;
