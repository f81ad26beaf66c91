-- Adds types to a subscription. It never removes types, since another release of the host may want them. A subscription that has
-- them all is not locked: a start does not wait for a host that has removed it and not committed.
create or replace function {{schema}}.register_subscription(p_name text, p_types text[]) returns void language plpgsql as $$
begin
  if not exists (select 1 from {{schema}}.subscription s where s.name = p_name and s.types @> p_types) then
    insert into {{schema}}.subscription as s (name, types) values (p_name, p_types)
    on conflict (name) do update
      set types = array(select distinct x.type from unnest(s.types || excluded.types) as x (type) order by x.type)
      where not s.types @> excluded.types;
  end if;
end
$$;
