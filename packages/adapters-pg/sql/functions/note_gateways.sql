-- Notes that a worker has these gateways, in rows that no worker has just written: it locks no other, so that workers do not wait for each other.
create or replace function {{schema}}.note_gateways(p_names text[]) returns void language sql as $$
  insert into {{schema}}.attended_gateway as g (name) select n.name from unnest(p_names) as n (name)
  where not exists (
    select 1 from {{schema}}.attended_gateway a where a.name = n.name and a.attended_at >= clock_timestamp() - interval '20 seconds')
  order by 1
  on conflict (name) do update set attended_at = clock_timestamp() where g.attended_at < clock_timestamp() - interval '20 seconds'
$$;
